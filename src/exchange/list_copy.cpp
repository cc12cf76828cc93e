// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <new>

#include "exchange/region_copy.hpp"
#include "type/flatten.hpp"
#include "type/kernels.hpp"

namespace oratorio {

namespace {

class ListCopy final : public RegionCopy {
  public:
    ListCopy(const Access& access, Direction direction, Stats& stats)
        : RegionCopy(direction, stats),
          user_(access.buffer),
          file_(flatten(access.file, access.from, access.from + access.bytes())),
          memory_(flatten(access.memory, 0, access.bytes())) {
        if (!file_.pieces().empty())
            mine_ = {file_.pieces().front().begin, file_.pieces().back().end};
    }

  private:
    Bytes move(Extent extent, std::byte* base) override {
        extent = intersect(extent, mine_);
        if (extent.empty()) return 0;
        file_.seek_offset(extent.end);
        const Bytes last = file_.tell_size();
        file_.seek_offset(extent.begin);
        const Bytes bytes = last - file_.tell_size();
        if (bytes == 0) return 0;
        memory_.seek_size(file_.tell_size());
        if (reading()) {
            copy_between(memory_, user_, file_, base, bytes);
        } else {
            copy_between(file_, base, memory_, user_, bytes);
        }
        return bytes;
    }
    void mark(Extent extent, std::byte* base) override {
        const auto& pieces = file_.pieces();
        auto piece = std::ranges::upper_bound(pieces, extent.begin, {}, &Extent::end);
        for (; piece != pieces.end() && piece->begin < extent.end; ++piece) {
            const Extent part = intersect(*piece, extent);
            mark_written(displaced(base, part.begin), {part.begin, part.length(), 0, 1});
        }
    }

    std::byte* user_;
    ListCursor file_;
    ListCursor memory_;
    Extent mine_;
};

}  // namespace

std::unique_ptr<RegionCopy> make_list_copy(const Access& access, Direction direction,
                                           Stats& stats) {
    // The lists grow with the number of pieces. Other ranks already depend on this one, so it must
    // not fail here: fall back to iterators.
    try {
        return std::make_unique<ListCopy>(access, direction, stats);
    } catch (const std::bad_alloc&) {
        return make_cursor_copy(access, direction, stats);
    }
}

}  // namespace oratorio
