// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "exchange/region_copy.hpp"
#include "exchange/run_table.hpp"
#include "exchange/runs.hpp"
#include "type/copy.hpp"
#include "type/coverage.hpp"

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

/// Packing and asking go through the same access at different places, so each has its own cursors.
class OwnRuns final : public Runs {
  public:
    OwnRuns(const ExchangeContext& context, bool copies)
        : stats_(context.stats),
          user_(context.access.buffer),
          from_(context.access.from),
          to_(from_ + context.access.bytes()),
          file_(context.access.file),
          asked_(context.access.file),
          memory_(context.access.memory),
          copy_(copies ? make_region_copy(context.plan, context.access, context.stats) : nullptr) {}

    bool ready(const Region&) override { return true; }
    std::size_t next(const Region& region, std::span<std::byte> table_and_payload,
                     Chunk& chunk) override;
    std::optional<RoundContents> contents(const Region& region) override {
        return contents_of(asked_, from_, to_, region);
    }
    void pack(const Chunk& chunk, std::span<std::byte> payload) override;
    Bytes unpack(const Chunk& chunk, std::span<const std::byte> payload) override;
    Copied copy(const Region& region, std::byte* buffer, std::byte* given,
                Offset valid_until) override {
        return {copy_->copy(region, buffer, given, valid_until), true};
    }

  private:
    void enter_extent(const Region& region);
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
    std::unique_ptr<RegionCopy> copy_;
    std::int64_t extent_ = 0;  ///< of the region that is being taken
    bool entered_ = false;
};

void OwnRuns::enter_extent(const Region& region) {
    while (extent_ < region.count && region.extent(extent_).empty()) ++extent_;
    if (extent_ < region.count) seek_within(file_, region.extent(extent_).begin, from_);
    entered_ = true;
}

std::size_t OwnRuns::next(const Region& region, std::span<std::byte> table_and_payload,
                          Chunk& chunk) {
    const auto capacity = static_cast<Bytes>(table_and_payload.size());
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
    extent_ = 0;
    entered_ = false;
    return table.bytes();
}

void OwnRuns::pack(const Chunk& chunk, std::span<std::byte> payload) {
    std::size_t at = 0;
    for (const Segment& segment : chunk.segments) {
        const auto bytes = static_cast<std::size_t>(segment.bytes);
        seek_memory(segment.position);
        gather_bytes(memory_, user_, payload.subspan(at, bytes));
        at += bytes;
    }
    stats_.bytes_packed += at;
}

Bytes OwnRuns::unpack(const Chunk& chunk, std::span<const std::byte> payload) {
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

std::unique_ptr<Runs> make_own_runs(const ExchangeContext& context, bool copies) {
    return std::make_unique<OwnRuns>(context, copies);
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
