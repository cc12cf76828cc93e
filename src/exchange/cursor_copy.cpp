// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/cursor_pair.hpp"
#include "exchange/region_copy.hpp"

namespace oratorio {

namespace {

class CursorCopy final : public RegionCopy {
  public:
    CursorCopy(const Access& access, Direction direction, Stats& stats)
        : RegionCopy(direction, stats),
          cursors_(access, direction, Target::reused),
          marked_(access.file),
          from_(access.from),
          to_(access.from + access.bytes()) {}

  private:
    Bytes move(Extent extent, std::byte* base) override {
        const Bytes bytes = cursors_.enter(extent);
        if (bytes > 0) cursors_.copy(base, bytes);
        return bytes;
    }
    void mark(Extent extent, std::byte* base) override {
        mark_written(base, marked_, from_, to_, extent);
    }

    CursorPair cursors_;
    Cursor marked_;
    Bytes from_;
    Bytes to_;
};

}  // namespace

std::unique_ptr<RegionCopy> make_cursor_copy(const Access& access, Direction direction,
                                             Stats& stats) {
    return std::make_unique<CursorCopy>(access, direction, stats);
}

}  // namespace oratorio
