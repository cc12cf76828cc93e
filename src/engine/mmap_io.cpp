// SPDX-License-Identifier: BSD-3-Clause
// Copies pieces between the user's memory and a mapping of the file, window by window (Hastings &
// Choudhary 2006, "mmap"). Holes aren't touched, so there is no read-modify-write. The ranks
// exchange no data; before a collective write they agree on the length that the file needs
// (engine/pre_extend).
#include <algorithm>
#include <vector>

#include "engine/work.hpp"
#include "exchange/cursor_pair.hpp"
#include "type/kernels.hpp"

namespace oratorio {

namespace {

// Bytes copied at a time, of all parts together: about half of a core's private cache.
constexpr Bytes kSliceBytes = 512 << 10;

class MappedWork final : public Work {
  public:
    MappedWork(const WorkContext& context, const Plan& plan, const Access& access,
               const Error& failed)
        : context_(context),
          plan_(plan),
          access_(access),
          cursors_(access, plan.direction, Target::streamed) {
        if (failed.kind != ErrorKind::none) note(failed);
    }

    Result<Step> step() override {
        if (done()) return Step::idle;
        const Region region = plan_.region(0, round_++);
        RangeLock held = share(region);
        map(region);
        // Several extents are parts that interleave in memory: copy a little of each at a time, so
        // that memory fetched into the cache for one part is still cached for the others.
        const Bytes slice =
            region.count > 1 ? std::max<Bytes>(64, kSliceBytes / region.count) : region.length;
        for (Bytes from = 0; from < region.length; from += slice) {
            for (Window& window : windows_) {
                const Offset begin = window.extent.begin + from;
                if (noted_.kind == ErrorKind::none)
                    copy(window, intersect({begin, begin + slice}, window.extent));
            }
        }
        windows_.clear();
        if (const auto unlocked = held.give_back(); !unlocked) note(unlocked.error());
        return Step::progressed;
    }
    bool done() const override { return round_ >= plan_.rounds || noted_.kind != ErrorKind::none; }
    const Error& noted() const override { return noted_; }
    Bytes moved() const override { return moved_; }

  private:
    struct Window {
        Extent extent;
        Mapped mapped;
    };
    [[nodiscard]] RangeLock share(const Region& region);
    void map(const Region& region);
    void copy(Window& window, Extent extent);
    Bytes copy_before(Offset end, Window& window, Extent extent);
    void note(const Error& error) {
        if (noted_.kind == ErrorKind::none)
            noted_ = error.on(context_.file.transport.topology().rank);
    }

    WorkContext context_;
    const Plan& plan_;
    const Access& access_;
    CursorPair cursors_;
    std::int64_t round_ = 0;
    std::vector<Window> windows_;
    Bytes moved_ = 0;
    Error noted_;
};

/// Takes the shared lock for a write. A shared lock suffices, because this rank stores its own
/// pieces and nothing in the holes.
RangeLock MappedWork::share(const Region& region) {
    if (plan_.direction == Direction::read || plan_.atomic || region.empty()) return {};
    const Extent range{region.begin, region.extent(region.count - 1).end};
    auto shared = context_.file.lock_policy.share(context_.store, range, plan_.collective);
    if (shared) return std::move(*shared);
    note(shared.error());
    return {};
}

void MappedWork::map(const Region& region) {
    for (std::int64_t i = 0; i < region.count && noted_.kind == ErrorKind::none; ++i) {
        const Extent extent = region.extent(i);
        if (cursors_.enter(extent) == 0) continue;
        const Timing timing(&context_.file.stats, &Stats::storage_time);
        const bool populates = plan_.direction == Direction::write && cursors_.in_every_page();
        auto mapped = context_.store.map(cursors_.hull(), plan_.direction,
                                         populates ? Populate::yes : Populate::no);
        if (!mapped) return note(mapped.error());
        context_.file.stats.mappings += 1;
        windows_.push_back({extent, std::move(*mapped)});
    }
}

void MappedWork::copy(Window& window, Extent extent) {
    Mapped& mapped = window.mapped;
    extent.end = std::min(extent.end, mapped.range().end);  // a read ends with the file
    Bytes bytes = cursors_.enter(extent);
    if (bytes == 0) return;
    const Timing timing(&context_.file.stats, &Stats::copy_time);
    std::byte* const base = displaced(mapped.bytes().data(), -mapped.range().begin);
    const auto copied = mapped.guarded([&] { cursors_.copy(base, bytes); });
    if (!copied) {
        note(copied.error());
        bytes = copy_before(copied.error().offset, window, extent);
    }
    moved_ += bytes;
    context_.file.stats.bytes_shared += static_cast<std::uint64_t>(bytes);
}

/// Copies the pieces of `extent` once more, up to `end`, where the page that faulted begins;
/// returns the bytes copied. The failed copy may have skipped some of these pieces, because pieces
/// aren't copied in byte order.
Bytes MappedWork::copy_before(Offset end, Window& window, Extent extent) {
    std::byte* const base = displaced(window.mapped.bytes().data(), -window.mapped.range().begin);
    for (;;) {
        extent.end = std::min(extent.end, end);
        // New cursors, because the fault left cursors_ in the middle of a copy.
        CursorPair fresh(access_, plan_.direction, Target::streamed);
        const Bytes bytes = fresh.enter(extent);
        const auto copied = window.mapped.guarded([&] { fresh.copy(base, bytes); });
        if (copied || copied.error().offset >= extent.end) return bytes;
        end = copied.error().offset;
    }
}

}  // namespace

std::unique_ptr<Work> make_mapped_work(const WorkContext& context, const Plan& plan,
                                       const Access& access, const Error& failed) {
    return std::make_unique<MappedWork>(context, plan, access, failed);
}

}  // namespace oratorio
