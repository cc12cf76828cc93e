// SPDX-License-Identifier: BSD-3-Clause
#include "engine/region_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace oratorio {

namespace {

constexpr double kMergeByte = 0.1;  // ns per byte examined while merging

using Mask = std::span<const std::byte>;

/// Returns the index of the first `value` at or after `at`; the mask's size if there is none.
std::size_t find(Mask mask, std::size_t at, int value) {
    if (at >= mask.size()) return mask.size();
    const void* const found = std::memchr(mask.data() + at, value, mask.size() - at);
    return found == nullptr
               ? mask.size()
               : static_cast<std::size_t>(static_cast<const std::byte*>(found) - mask.data());
}

template <class Word>
void keep_holes_in(std::byte* data, const std::byte* file, const std::byte* given) {
    Word ours;
    Word theirs;
    Word mask;
    std::memcpy(&ours, data, sizeof ours);
    std::memcpy(&theirs, file, sizeof theirs);
    std::memcpy(&mask, given, sizeof mask);
    ours = static_cast<Word>((ours & mask) | (theirs & ~mask));
    std::memcpy(data, &ours, sizeof ours);
}

/// Replaces the bytes of `data` that no rank has written, those with mask 0, by the file's bytes.
/// Works a word at a time, because a compiler may not vectorize a loop over the bytes of arrays
/// that could overlap.
void keep_holes(std::byte* data, const std::byte* file, const std::byte* given, std::size_t bytes) {
    using Word = std::uint64_t;
    std::size_t i = 0;
    for (; i + sizeof(Word) <= bytes; i += sizeof(Word))
        keep_holes_in<Word>(data + i, file + i, given + i);
    for (; i < bytes; ++i) keep_holes_in<std::uint8_t>(data + i, file + i, given + i);
}

}  // namespace

RegionWriter::RegionWriter(const WorkContext& context, const Plan& plan,
                           std::span<std::byte> scratch)
    : context_(context), plan_(plan), scratch_(scratch) {}

void RegionWriter::prepare(const Region& region, const RoundBuffer& buffer, bool on_this_thread) {
    region_ = region;
    buffer_ = buffer;
    locks_ = context_.file.lock_policy;
    if (!on_this_thread) locks_.io_thread = nullptr;  // a job must not wait for itself
    in_series_ = on_this_thread;
    counted_ = Stats();
    counted_.timed = context_.file.stats.timed && on_this_thread;
}

void RegionWriter::perform(Store& store) {
    store_ = &store;
    try {
        stored_ = write();
    } catch (const std::bad_alloc&) {
        stored_ = {region_.begin,
                   Error::make(ErrorKind::no_memory, "write: no memory for the list of pieces")};
    }
}

RegionWriter::Stored RegionWriter::take_outcome() {
    context_.file.stats.add(counted_);
    return stored_;
}

/// Returns, for each extent of the region with written bytes, the stretch from the first to the
/// last of them.
std::vector<RegionWriter::Piece> RegionWriter::written_extents() const {
    std::vector<Piece> extents;
    for (std::int64_t i = 0; i < region_.count; ++i) {
        const Extent extent = region_.extent(i);
        if (extent.empty()) continue;
        const Bytes at = region_.buffer_position(i, extent.begin);
        const Mask mask =
            Mask(buffer_.mask)
                .subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(extent.length()));
        const auto first = static_cast<Bytes>(find(mask, 0, 0xff));
        const void* const last = memrchr(mask.data(), 0xff, mask.size());
        if (last == nullptr) continue;
        const Bytes end = static_cast<const std::byte*>(last) - mask.data() + 1;
        extents.push_back({{extent.begin + first, extent.begin + end}, at + first});
    }
    return extents;
}

/// Returns at most `most` written pieces of `whole`, the first of which begins at `from`, and
/// advances `from` to the piece after them.
std::vector<RegionWriter::Piece> RegionWriter::written_pieces(const Piece& whole, Bytes& from,
                                                              std::size_t most) const {
    const Mask mask = Mask(buffer_.mask)
                          .subspan(static_cast<std::size_t>(whole.at),
                                   static_cast<std::size_t>(whole.file.length()));
    std::vector<Piece> pieces;
    auto at = static_cast<std::size_t>(from);
    while (at < mask.size() && pieces.size() < most) {
        const std::size_t end = find(mask, at, 0);
        const Offset begin = whole.file.begin + static_cast<Bytes>(at);
        pieces.push_back({{begin, whole.file.begin + static_cast<Bytes>(end)},
                          whole.at + static_cast<Bytes>(at)});
        at = find(mask, end, 0xff);
    }
    from = static_cast<Bytes>(at);
    return pieces;
}

RegionWriter::Stored RegionWriter::write() {
    const bool may_fill = locks_.may_fill();
    for (const Piece& whole : written_extents()) {
        const Stored stored = may_fill ? write_cheaply(whole) : write_by_pieces(whole);
        if (stored.error.kind != ErrorKind::none) return stored;
    }
    return {};
}

/// Writes the extent by data sieving or piece by piece, whichever is cheaper according to the file
/// system's costs (in nanoseconds).
RegionWriter::Stored RegionWriter::write_cheaply(const Piece& whole) {
    const Costs& costs = context_.config.facts.costs;
    const auto bytes = static_cast<double>(whole.file.length());
    const double filling = bytes * (costs.read_byte + kMergeByte + costs.write_byte) +
                           costs.read_call + costs.write_call + costs.lock;
    const auto most = static_cast<std::size_t>(filling / costs.write_call) + 1;
    Bytes from = 0;
    const auto pieces = written_pieces(whole, from, most);
    if (from < whole.file.length()) return fill_and_write(whole);
    Bytes written = 0;
    for (const Piece& piece : pieces) written += piece.file.length();
    const double one_by_one = static_cast<double>(pieces.size()) * costs.write_call +
                              static_cast<double>(written) * costs.write_byte;
    return one_by_one < filling ? write_pieces(pieces) : fill_and_write(whole);
}

RegionWriter::Stored RegionWriter::write_by_pieces(const Piece& whole) {
    constexpr std::size_t kAtOnce = 1024;
    for (Bytes from = 0; from < whole.file.length();) {
        const Stored stored = write_pieces(written_pieces(whole, from, kAtOnce));
        if (stored.error.kind != ErrorKind::none) return stored;
    }
    return {};
}

RegionWriter::Stored RegionWriter::write_pieces(const std::vector<Piece>& pieces) {
    const Extent range{pieces.front().file.begin, pieces.back().file.end};
    RangeLock held;
    if (!plan_.atomic) {
        auto shared = locks_.share(*store_, range, plan_.collective);
        if (!shared) return {range.begin, shared.error()};
        held = std::move(*shared);
    }
    std::optional<WriteSeries> series;
    if (flushes(held)) series.emplace(*store_);
    Stored stored;
    for (const Piece& piece : pieces) {
        stored = move(piece);
        if (stored.error.kind != ErrorKind::none) break;
    }
    return finish(series, held, range, stored);
}

/// Returns true if writes must be flushed by this job, before it releases `held`.
bool RegionWriter::flushes(const RangeLock& held) const {
    return !in_series_ || (held.holds() && store_->limits().flush_before_unlock);
}

/// Ends the series of writes to `range`, if there is one, and releases the lock. Returns `stored`,
/// the outcome of the writes, or the first failure after them.
RegionWriter::Stored RegionWriter::finish(std::optional<WriteSeries>& series, RangeLock& held,
                                          Extent range, Stored stored) {
    const auto flushed = series ? series->end() : Result<void>();
    if (!flushed) stored = {range.begin, flushed.error().at(range.begin, range.length())};
    const auto unlocked = held.give_back();
    if (stored.error.kind != ErrorKind::none || unlocked) return stored;
    return {range.begin, unlocked.error()};
}

RegionWriter::Stored RegionWriter::fill_and_write(const Piece& whole) {
    RangeLock held;
    if (!plan_.atomic) {
        auto alone = locks_.take(*store_, whole.file, true);
        if (!alone) return {whole.file.begin, alone.error()};
        held = std::move(*alone);
    }
    counted_.hole_reads += 1;
    if (const Error error = fill(whole); error.kind != ErrorKind::none)
        return {whole.file.begin, error};
    std::optional<WriteSeries> series;
    if (flushes(held)) series.emplace(*store_);
    const Stored stored = move(whole);
    return finish(series, held, whole.file, stored);
}

/// Copies the file's bytes into the holes of the buffer.
Error RegionWriter::fill(const Piece& whole) {
    for (Bytes from = 0; from < whole.file.length(); from += std::ssize(scratch_)) {
        const Bytes bytes = std::min<Bytes>(std::ssize(scratch_), whole.file.length() - from);
        const auto at = static_cast<std::size_t>(whole.at + from);
        const auto length = static_cast<std::size_t>(bytes);
        const Mask mask = Mask(buffer_.mask).subspan(at, length);
        if (find(mask, 0, 0) == length) continue;
        const auto file = scratch_.first(length);
        const Transferred done = transfer(Direction::read, whole.file.begin + from, file);
        if (done.error.kind != ErrorKind::none) return done.error;
        // A hole past the end of the file holds zeros.
        std::ranges::fill(file.subspan(static_cast<std::size_t>(done.bytes)), std::byte{0});
        keep_holes(buffer_.data.data() + at, file.data(), mask.data(), length);
    }
    return {};
}

RegionWriter::Stored RegionWriter::move(const Piece& piece) {
    const auto memory = buffer_.data.subspan(static_cast<std::size_t>(piece.at),
                                             static_cast<std::size_t>(piece.file.length()));
    const Transferred done = transfer(Direction::write, piece.file.begin, memory);
    if (done.bytes == piece.file.length()) return {};
    return {piece.file.begin + done.bytes, done.error};
}

Transferred RegionWriter::transfer(Direction direction, Offset offset,
                                   std::span<std::byte> memory) {
    const iovec whole{memory.data(), memory.size()};
    return oratorio::transfer(*store_, &counted_, direction, offset, std::span(&whole, 1),
                              Flush::end_of_series);
}

}  // namespace oratorio
