#include <algorithm>
#include <cstdint>

#include "exchange/region_copy.hpp"
#include "type/flatten.hpp"
#include "type/kernels.hpp"

namespace oratorio {

namespace {

class ListCopy final : public RegionCopy {
  public:
    ListCopy(const Access& access, Direction direction)
        : reading_(direction == Direction::read),
          user_(access.buffer),
          file_(flatten(access.file, access.from, access.from + access.bytes())),
          memory_(flatten(access.memory, 0, access.bytes())) {
        if (!file_.pieces().empty())
            mine_ = {file_.pieces().front().begin, file_.pieces().back().end};
    }

    RoundContents copy(const Region& region, std::byte* buffer, Offset valid_until, bool) override {
        RoundContents moved;
        for (std::int64_t i = 0; i < region.count; ++i) {
            Extent extent = intersect(region.extent(i), mine_);
            if (reading_) extent.end = std::min(extent.end, valid_until);
            if (extent.empty()) continue;
            const Bytes base = region.buffer_position(i, extent.begin) - extent.begin;
            const Bytes bytes = copy_extent(extent, displaced(buffer, base));
            if (bytes == 0) continue;
            moved.bytes += bytes;
            moved.hull = hull(moved.hull, extent);
        }
        return moved;
    }

  private:
    Bytes copy_extent(Extent extent, std::byte* base) {
        file_.seek_offset(extent.end);
        const Bytes last = file_.tell_size();
        file_.seek_offset(extent.begin);
        const Bytes bytes = last - file_.tell_size();
        if (bytes == 0) return 0;
        memory_.seek_size(file_.tell_size());
        if (reading_) {
            copy_between(memory_, user_, file_, base, bytes);
        } else {
            copy_between(file_, base, memory_, user_, bytes);
        }
        return bytes;
    }

    bool reading_;
    std::byte* user_;
    ListCursor file_;
    ListCursor memory_;
    Extent mine_;
};

}  // namespace

std::unique_ptr<RegionCopy> make_list_copy(const Access& access, Direction direction) {
    return std::make_unique<ListCopy>(access, direction);
}

}  // namespace oratorio
