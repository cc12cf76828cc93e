#include "exchange/cursor_pair.hpp"
#include "exchange/region_copy.hpp"

namespace oratorio {

namespace {

class CursorCopy final : public RegionCopy {
  public:
    CursorCopy(const Access& access, Direction direction, Stats& stats)
        : RegionCopy(direction, stats), cursors_(access, direction, Target::reused) {}

  private:
    Moved move(Extent extent, std::byte* base, bool with_hull) override {
        Moved moved{cursors_.enter(extent), {}};
        if (moved.bytes == 0) return moved;
        if (with_hull) moved.hull = cursors_.hull();
        cursors_.copy(base, moved.bytes);
        return moved;
    }

    CursorPair cursors_;
};

}  // namespace

std::unique_ptr<RegionCopy> make_cursor_copy(const Access& access, Direction direction,
                                             Stats& stats) {
    return std::make_unique<CursorCopy>(access, direction, stats);
}

}  // namespace oratorio
