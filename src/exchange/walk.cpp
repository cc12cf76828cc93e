#include "exchange/walk.hpp"

#include <algorithm>

#include "type/copy.hpp"
#include "type/coverage.hpp"
#include "type/kernels.hpp"

namespace oratorio {

namespace {

/// Data positions of the cursor's layout that a rank may touch.
void seek_within(Cursor& file, Offset offset, Bytes from) {
    file.seek_offset(offset);
    if (file.tell_size() < from) file.seek_size(from);  // the access begins inside the extent
}

void append_segment(std::vector<Segment>& segments, Bytes position, Bytes bytes) {
    if (!segments.empty() && segments.back().position + segments.back().bytes == position) {
        segments.back().bytes += bytes;
    } else {
        segments.push_back({position, bytes});
    }
}

/// `count` pieces of `length` bytes, equally spaced on both sides.
void copy_strided(std::byte* to, Bytes to_stride, const std::byte* from, Bytes from_stride,
                  Bytes length, std::int64_t count) {
    if (length > 0)
        copy_equal({to, nullptr, to_stride, 0}, {from, nullptr, from_stride, 0}, length, count, 1);
}

/// Calls `visit(run, buffer position of its first byte)` for each run of the table. False, and it
/// ends there, where a run leaves its extent of the region or they are more than `payload` bytes.
template <class Visit>
bool for_each_run(std::span<const std::byte> table, const Region& region, std::size_t payload,
                  Visit visit) {
    const Extent whole{region.begin,
                       region.begin + (region.count - 1) * region.stride + region.length};
    RunTableReader reader(table, whole);
    auto left = static_cast<Bytes>(payload);
    while (!reader.at_end()) {
        const StridedRun run = reader.next();
        if (run.count == 0) return false;
        const std::int64_t extent =
            region.count > 1 ? (run.offset - region.begin) / region.stride : 0;
        const Bytes at = region.buffer_position(extent, run.offset);
        if (region.count > 1 && at + (run.end() - run.offset) > (extent + 1) * region.length)
            return false;
        Bytes bytes = 0;
        if (__builtin_mul_overflow(run.length, run.count, &bytes) || bytes > left) return false;
        left -= bytes;
        visit(run, at);
    }
    return true;
}

}  // namespace

RegionOrder::RegionOrder(const Plan& plan, Rank rank, Extent mine) : plan_(&plan), mine_(mine) {
    const auto count = static_cast<int>(plan.aggregators.size());
    const int own = plan.aggregator_index(rank);
    first_ = count == 0 ? 0 : (own >= 0 ? own + 1 : rank) % count;
    if (mine.empty() || count == 0) round_ = plan.rounds;
    skip_untouched();
}

int RegionOrder::aggregator() const {
    return (first_ + turn_) % static_cast<int>(plan_->aggregators.size());
}

void RegionOrder::advance() {
    if (++turn_ == static_cast<int>(plan_->aggregators.size())) {
        turn_ = 0;
        ++round_;
    }
    skip_untouched();
}

void RegionOrder::skip_untouched() {
    while (round_ < plan_->rounds && !region().touches(mine_)) {
        if (++turn_ == static_cast<int>(plan_->aggregators.size())) {
            turn_ = 0;
            ++round_;
        }
    }
}

Walk::Walk(const Plan& plan, const Access& access, Rank rank)
    : order_(plan, rank, plan.hull_of(rank)),
      file_(access.file),
      from_(access.from),
      to_(access.from + access.bytes()) {}

void Walk::enter_extent(const Region& region) {
    while (extent_ < region.count && region.extent(extent_).empty()) ++extent_;
    if (extent_ < region.count) seek_within(file_, region.extent(extent_).begin, from_);
    entered_ = true;
}

std::size_t Walk::next(std::span<std::byte> table_and_payload, Chunk& chunk) {
    const Region region = order_.region();
    const auto capacity = static_cast<Bytes>(table_and_payload.size());
    chunk.aggregator = order_.aggregator();
    chunk.round = order_.round();
    chunk.last = false;
    chunk.payload = 0;
    chunk.segments.clear();
    RunTableWriter table(table_and_payload, region.begin);
    if (!entered_) enter_extent(region);
    while (extent_ < region.count) {
        const Bytes room = capacity -
                           static_cast<Bytes>(table.bytes() + RunTableWriter::run_bytes_max) -
                           chunk.payload;
        if (room <= 0) return table.bytes();
        const Bytes position = file_.tell_size();
        const Bytes left = to_ - position;
        const StridedRun run =
            left > 0 ? file_.next(std::min(room, left), region.extent(extent_).end) : StridedRun{};
        if (run.count == 0) {
            ++extent_;
            enter_extent(region);
            continue;
        }
        table.add(run);
        append_segment(chunk.segments, position - from_, run.bytes());
        chunk.payload += run.bytes();
    }
    chunk.last = true;
    order_.advance();
    extent_ = 0;
    entered_ = false;
    return table.bytes();
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

void pack_segments(Cursor& memory, const std::byte* buffer, const std::vector<Segment>& segments,
                   std::span<std::byte> payload) {
    std::size_t at = 0;
    for (const Segment& segment : segments) {
        if (memory.tell_size() != segment.position) memory.seek_size(segment.position);
        gather_bytes(memory, buffer, payload.subspan(at, static_cast<std::size_t>(segment.bytes)));
        at += static_cast<std::size_t>(segment.bytes);
    }
}

void unpack_segments(Cursor& memory, std::byte* buffer, const std::vector<Segment>& segments,
                     std::span<const std::byte> payload) {
    std::size_t at = 0;
    for (const Segment& segment : segments) {
        const std::size_t bytes =
            std::min(payload.size() - at, static_cast<std::size_t>(segment.bytes));
        if (bytes == 0) return;
        if (memory.tell_size() != segment.position) memory.seek_size(segment.position);
        scatter_bytes(memory, buffer, payload.subspan(at, bytes));
        at += bytes;
    }
}

bool place_runs(std::span<const std::byte> table, std::span<const std::byte> payload,
                const Region& region, const RoundBuffer& buffer) {
    const std::byte* from = payload.data();
    return for_each_run(table, region, payload.size(), [&](const StridedRun& run, Bytes at) {
        std::byte* const to = buffer.data.data() + at;
        if (run.count == 1) {  // small ones are many: without a look for the best way to copy
            copy_piece(to, from, run.length);
        } else {
            copy_strided(to, run.stride, from, run.length, run.length, run.count);
        }
        if (!buffer.given.empty()) mark_given(buffer.given.data() + at, run);
        from += run.bytes();
    });
}

std::optional<Bytes> fetch_runs(std::span<const std::byte> table, std::span<std::byte> payload,
                                const Region& region, std::span<const std::byte> buffer,
                                Offset valid_until) {
    std::byte* to = payload.data();
    const auto fetch = [&](const StridedRun& run, Bytes at) {
        if (run.end() <= valid_until) {
            if (run.count == 1) {
                copy_piece(to, buffer.data() + at, run.length);
            } else {
                copy_strided(to, run.length, buffer.data() + at, run.stride, run.length, run.count);
            }
            to += run.bytes();
            return;
        }
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Bytes there =
                std::clamp<Bytes>(valid_until - (run.offset + i * run.stride), 0, run.length);
            copy_strided(to, there, buffer.data() + at + i * run.stride, there, there,
                         there > 0 ? 1 : 0);
            to += there;
        }
    };
    if (!for_each_run(table, region, payload.size(), fetch)) return std::nullopt;
    return to - payload.data();
}

}  // namespace oratorio
