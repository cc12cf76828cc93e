// SPDX-License-Identifier: BSD-3-Clause
#include "store/disk_map.hpp"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cstddef>

namespace oratorio {

namespace {

constexpr unsigned kExtentsAtOnce = 64;
/// Flags of extents without a known place on the device.
constexpr unsigned kPlaceless =
    FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE;

struct Question {
    alignas(struct fiemap) std::byte
        memory[sizeof(struct fiemap) + kExtentsAtOnce * sizeof(struct fiemap_extent)] = {};
    [[nodiscard]] struct fiemap& head() { return *reinterpret_cast<struct fiemap*>(memory); }
};

}  // namespace

std::vector<DiskExtent> ExtentMap::places(Extent range, std::size_t most) const {
    std::vector<DiskExtent> places;
    Offset asked_until = range.begin;
    bool last = false;
    while (!last && asked_until < range.end && places.size() < most) {
        Question question;
        struct fiemap& map = question.head();
        map.fm_start = static_cast<std::uint64_t>(asked_until);
        map.fm_length = static_cast<std::uint64_t>(range.end - asked_until);
        map.fm_extent_count = kExtentsAtOnce;
        if (::ioctl(descriptor_, FS_IOC_FIEMAP, &map) != 0) return places;
        if (map.fm_mapped_extents == 0) break;
        for (unsigned i = 0; i < map.fm_mapped_extents && places.size() < most; ++i) {
            const struct fiemap_extent& extent = map.fm_extents[i];
            const auto begin = static_cast<Offset>(extent.fe_logical);
            const Extent whole{begin, begin + static_cast<Bytes>(extent.fe_length)};
            if (whole.end <= asked_until) return places;  // prevents an endless loop
            asked_until = whole.end;
            last = (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
            const Extent mine = intersect(whole, range);
            if (mine.empty() || (extent.fe_flags & kPlaceless) != 0) continue;
            places.push_back({mine, static_cast<Offset>(extent.fe_physical) + mine.begin - begin});
        }
    }
    return places;
}

}  // namespace oratorio
