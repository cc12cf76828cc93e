#include <algorithm>
#include <cstdint>

#include "exchange/cursor_pair.hpp"
#include "exchange/region_copy.hpp"
#include "type/kernels.hpp"

namespace oratorio {

namespace {

class CursorCopy final : public RegionCopy {
  public:
    CursorCopy(const Access& access, Direction direction)
        : reading_(direction == Direction::read), cursors_(access, direction, Target::reused) {}

    RoundContents copy(const Region& region, std::byte* buffer, Offset valid_until,
                       bool with_hull) override {
        RoundContents moved;
        for (std::int64_t i = 0; i < region.count; ++i) {
            Extent extent = region.extent(i);
            if (reading_) extent.end = std::min(extent.end, valid_until);
            const Bytes bytes = cursors_.enter(extent);
            if (bytes == 0) continue;
            if (with_hull) moved.hull = hull(moved.hull, cursors_.hull());
            const Bytes base = region.buffer_position(i, extent.begin) - extent.begin;
            cursors_.copy(displaced(buffer, base), bytes);
            moved.bytes += bytes;
        }
        return moved;
    }

  private:
    bool reading_;
    CursorPair cursors_;
};

}  // namespace

std::unique_ptr<RegionCopy> make_cursor_copy(const Access& access, Direction direction) {
    return std::make_unique<CursorCopy>(access, direction);
}

}  // namespace oratorio
