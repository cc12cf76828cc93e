// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "exchange/data_port.hpp"
#include "exchange/messages/piece_writer.hpp"
#include "exchange/region_copy.hpp"
#include "type/copy.hpp"
#include "type/coverage.hpp"
#include "type/kernels.hpp"
#include "type/run_table.hpp"

namespace oratorio {

namespace {

void append_segment(std::vector<Segment>& segments, Bytes position, Bytes bytes) {
    if (!segments.empty() && segments.back().position + segments.back().bytes == position) {
        segments.back().bytes += bytes;
    } else {
        segments.push_back({position, bytes});
    }
}

/// The rank's own access as DataPort. next() and contents() walk the access at different places, so
/// each has its own cursor of the file layout.
class OwnData final : public DataPort {
  public:
    OwnData(const ExchangeContext& context, bool copies, std::span<std::byte> lists)
        : stats_(context.stats),
          user_(context.access.buffer),
          from_(context.access.from),
          to_(from_ + context.access.bytes()),
          file_(context.access.file),
          asked_(context.access.file),
          memory_(context.access.memory),
          lists_(lists),
          whole_pieces_(context.plan.layers().two()),
          copy_(copies ? make_region_copy(context.plan, context.access, context.stats) : nullptr) {}

    bool ready(const Region&) override { return true; }
    std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                     Chunk& chunk) override;
    std::optional<RoundContents> contents(const Region& region) override {
        return contents_of(asked_, from_, to_, region);
    }
    void pack(const Chunk& chunk, std::span<std::byte> payload) override;
    Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) override;
    Copied copy(const Region& region, std::byte* buffer, std::byte* mask,
                Offset valid_until) override {
        return {copy_->copy(region, buffer, mask, valid_until), true};
    }

  private:
    void enter_extent(const Region& region);
    StridedRun next_run(const Region& region, Bytes most);
    [[nodiscard]] bool is_over(const Region& region) const;
    void end_region(Chunk& chunk);
    std::size_t next_listed(const Region& region, std::span<std::byte> table, Chunk& chunk);
    Bytes list(PieceWriter& pieces, Bytes position, Bytes bytes);
    void seek_memory(Bytes position) {
        if (memory_.tell_size() != position) memory_.seek_size(position);
    }

    Stats& stats_;
    std::byte* user_;
    Bytes from_;
    Bytes to_;
    Cursor file_;
    Cursor asked_;
    Cursor memory_;
    std::span<std::byte> lists_;
    bool whole_pieces_;  ///< pieces are kept whole, because a local aggregator would forward each
                         ///< part of a piece separately
    std::unique_ptr<RegionCopy> copy_;
    std::int64_t extent_ = 0;  ///< index of the current extent of the region
    bool entered_ = false;
};

void OwnData::enter_extent(const Region& region) {
    while (extent_ < region.count && region.extent(extent_).empty()) ++extent_;
    if (extent_ < region.count) seek_within(file_, region.extent(extent_).begin, from_);
    entered_ = true;
}

std::size_t OwnData::next(const Region& region, std::span<std::byte> table_and_payload,
                          Chunk& chunk) {
    const auto capacity = static_cast<Bytes>(table_and_payload.size());
    chunk.last = false;
    chunk.payload = 0;
    chunk.segments.clear();
    if (!lists_.empty()) return next_listed(region, table_and_payload, chunk);
    RunTableWriter table(table_and_payload, region.begin);
    if (!entered_) enter_extent(region);
    while (extent_ < region.count) {
        const Bytes room = capacity -
                           static_cast<Bytes>(table.bytes() + RunTableWriter::run_bytes_max) -
                           chunk.payload;
        if (room <= 0) return table.bytes();
        const Bytes position = file_.tell_size();
        const StridedRun run = next_run(region, room);
        if (run.count == 0) continue;
        if (whole_pieces_ && chunk.payload > 0 &&
            is_split(file_, run, to_, region.extent(extent_).end, capacity)) {
            file_.seek_size(position);
            return table.bytes();
        }
        table.add(run);
        append_segment(chunk.segments, position - from_, run.bytes());
        chunk.payload += run.bytes();
    }
    end_region(chunk);
    return table.bytes();
}

/// Returns the next run in the current extent. If there is none, enters the next extent and returns
/// a run with count 0.
StridedRun OwnData::next_run(const Region& region, Bytes most) {
    const Bytes left = to_ - file_.tell_size();
    const StridedRun run =
        left > 0 ? file_.next(std::min(most, left), region.extent(extent_).end) : StridedRun{};
    if (run.count == 0) {
        ++extent_;
        enter_extent(region);
    }
    return run;
}

/// Returns true if no data is left in the region.
bool OwnData::is_over(const Region& region) const {
    const Offset end = region.begin + (region.count - 1) * region.stride + region.length;
    return file_.tell_size() >= to_ || file_.tell_offset() >= std::min(end, region.clip.end);
}

void OwnData::end_region(Chunk& chunk) {
    chunk.last = true;
    extent_ = 0;
    entered_ = false;
}

/// Takes a chunk as a list of pieces (zero-copy). The chunk ends with the region, or earlier if the
/// run table or the list of pieces on either side is full, or at PieceWriter::bytes_max.
std::size_t OwnData::next_listed(const Region& region, std::span<std::byte> into, Chunk& chunk) {
    RunTableWriter table(into, region.begin);
    PieceWriter pieces(lists_);
    std::int64_t room = pieces.room();  // number of file pieces that the chunk may still take
    if (!entered_) enter_extent(region);
    while (extent_ < region.count && room > 0 && pieces.room() > 0 &&
           chunk.payload < PieceWriter::bytes_max &&
           table.bytes() + 2 * RunTableWriter::run_bytes_max <= into.size()) {
        const Bytes position = file_.tell_size();
        StridedRun run = next_run(region, PieceWriter::bytes_max - chunk.payload);
        if (run.count == 0) continue;
        const Bytes listed = list(pieces, position - from_, std::min(run.count, room) * run.length);
        if (listed < run.bytes()) file_.seek_size(position + listed);
        const StridedRun cut{run.offset + listed / run.length * run.stride, listed % run.length, 0,
                             1};
        run.count = listed / run.length;
        if (run.count > 0) table.add(run);
        if (cut.length > 0) table.add(cut);
        room -= run.count + (cut.length > 0 ? 1 : 0);
        chunk.payload += listed;
    }
    chunk.pieces = pieces.list();
    if (extent_ == region.count || is_over(region)) end_region(chunk);
    return table.bytes();
}

/// Lists the data from `position` on, at most `bytes` and as much as there is room for; returns the
/// bytes listed.
Bytes OwnData::list(PieceWriter& pieces, Bytes position, Bytes bytes) {
    Bytes listed = 0;
    while (listed < bytes && pieces.room() > 0) {
        seek_memory(position + listed);
        StridedRun run = memory_.next(bytes - listed);
        run.count = std::min(run.count, pieces.room());
        for (std::int64_t i = 0; i < run.count; ++i)
            pieces.add(displaced(user_, run.offset + i * run.stride), run.length);
        listed += run.bytes();
    }
    return listed;
}

void OwnData::pack(const Chunk& chunk, std::span<std::byte> payload) {
    std::size_t at = 0;
    for (const Segment& segment : chunk.segments) {
        const auto bytes = static_cast<std::size_t>(segment.bytes);
        seek_memory(segment.position);
        gather_bytes(memory_, user_, payload.subspan(at, bytes));
        at += bytes;
    }
    stats_.bytes_packed += at;
}

Bytes OwnData::unpack(const Chunk& chunk, std::span<const std::byte> payload) {
    std::size_t at = 0;
    for (const Segment& segment : chunk.segments) {
        const auto bytes = std::min(payload.size() - at, static_cast<std::size_t>(segment.bytes));
        if (bytes == 0) break;
        seek_memory(segment.position);
        scatter_bytes(memory_, user_, payload.subspan(at, bytes));
        at += bytes;
    }
    stats_.bytes_packed += at;
    return static_cast<Bytes>(at);
}

}  // namespace

std::unique_ptr<DataPort> make_own_data(const ExchangeContext& context, bool copies,
                                        std::span<std::byte> lists) {
    return std::make_unique<OwnData>(context, copies, lists);
}

bool is_split(Cursor& file, const StridedRun& run, Bytes to, Offset end, Bytes most) {
    const Bytes next = file.tell_size();
    if (run.count > 1 || next >= to || file.tell_offset() != run.end()) return false;
    file.seek_size(next - run.length);
    const Bytes left = to - file.tell_size();
    const Bytes length = file.next(std::min(most, left), end).length;
    file.seek_size(next);
    constexpr auto kTable = static_cast<Bytes>(RunTableWriter::run_bytes_max);
    return length > run.length && length <= most - kTable;
}

RoundContents contents_of(Cursor& file, Bytes from, Bytes to, const Region& region) {
    RoundContents contents;
    for (std::int64_t i = 0; i < region.count; ++i) {
        const Extent extent = region.extent(i);
        if (extent.empty()) continue;
        seek_within(file, extent.begin, from);
        while (file.tell_size() < to) {
            const StridedRun run = file.next(to - file.tell_size(), extent.end);
            if (run.count == 0) break;
            contents.bytes += run.bytes();
            contents.coverage += coverage(run);
            contents.hull = hull(contents.hull, {run.offset, run.end()});
        }
    }
    return contents;
}

}  // namespace oratorio
