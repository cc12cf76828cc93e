// SPDX-License-Identifier: BSD-3-Clause
// ExtentMap with a stand-in for Linux's FIEMAP: the linker redirects this program's ioctl to this
// file.
#include "store/disk_map.hpp"

#include <gtest/gtest.h>
#include <linux/fiemap.h>
#include <linux/fs.h>

#include <cerrno>
#include <cstdarg>

namespace {

struct Simulated {
    std::vector<fiemap_extent> extents;
    int error = 0;
    bool stuck = false;  ///< every request gets all extents, whatever its range
    int calls = 0;
    unsigned most_at_once = 0;
    std::uint32_t flags = 0;  ///< the flags of all requests so far
};
Simulated simulated;

fiemap_extent extent(std::uint64_t logical, std::uint64_t physical, std::uint64_t length,
                     std::uint32_t flags = 0) {
    fiemap_extent one{};
    one.fe_logical = logical;
    one.fe_physical = physical;
    one.fe_length = length;
    one.fe_flags = flags;
    return one;
}

/// Answers as the kernel does: with all extents that touch the range, uncut, up to the number that
/// there is space for.
int answer(fiemap& map) {
    ++simulated.calls;
    if (simulated.error != 0) {
        errno = simulated.error;
        return -1;
    }
    simulated.flags |= map.fm_flags;
    simulated.most_at_once = map.fm_extent_count;
    map.fm_mapped_extents = 0;
    for (const fiemap_extent& one : simulated.extents) {
        const bool touches = one.fe_logical < map.fm_start + map.fm_length &&
                             one.fe_logical + one.fe_length > map.fm_start;
        if ((touches || simulated.stuck) && map.fm_mapped_extents < map.fm_extent_count)
            map.fm_extents[map.fm_mapped_extents++] = one;
    }
    return 0;
}

}  // namespace

// The linker prescribes the name (--wrap).
extern "C" int __wrap_ioctl(int, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    auto* const map = va_arg(arguments, fiemap*);
    va_end(arguments);
    if (request == FS_IOC_FIEMAP) return answer(*map);
    errno = ENOTTY;
    return -1;
}

namespace oratorio {
namespace {

constexpr std::uint64_t kPage = 4096;

std::vector<DiskExtent> places_of(const Simulated& what, Extent range, std::size_t most = 1000) {
    simulated = what;
    return ExtentMap(3).places(range, most);
}

TEST(DiskMap, TellsPlacesCutToTheRange) {
    const Simulated file{.extents = {extent(0, 90 * kPage, 2 * kPage),
                                     extent(4 * kPage, 10 * kPage, 4 * kPage, FIEMAP_EXTENT_LAST)}};
    EXPECT_EQ(places_of(file, {0, 100 * 4096}),
              (std::vector<DiskExtent>{{{0, 8192}, 90 * 4096}, {{16384, 32768}, 10 * 4096}}));
    EXPECT_EQ(simulated.calls, 1);
    EXPECT_EQ(simulated.flags, 0U) << "a query writes nothing back";
    EXPECT_EQ(
        places_of(file, {5000, 20000}),
        (std::vector<DiskExtent>{{{5000, 8192}, 90 * 4096 + 5000}, {{16384, 20000}, 10 * 4096}}));
    EXPECT_TRUE(places_of(file, {8192, 16384}).empty()) << "a hole";
}

TEST(DiskMap, BytesThatAreNotWrittenBackHaveNoPlace) {
    for (const unsigned flags :
         {FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC, FIEMAP_EXTENT_DATA_INLINE}) {
        const Simulated file{.extents = {extent(0, 0, kPage, flags),
                                         extent(kPage, 7 * kPage, kPage, FIEMAP_EXTENT_LAST)}};
        EXPECT_EQ(places_of(file, {0, 1 << 20}),
                  (std::vector<DiskExtent>{{{4096, 8192}, 7 * 4096}}));
    }
}

TEST(DiskMap, AsksAgainWhereThereAreManyExtents) {
    Simulated file;
    for (std::uint64_t i = 0; i < 200; ++i)
        file.extents.push_back(extent(i * kPage, (1000 - i) * kPage, kPage));
    const auto places = places_of(file, {0, 200 * 4096});
    ASSERT_EQ(places.size(), 200U);
    for (std::size_t i = 0; i < places.size(); ++i) {
        EXPECT_EQ(places[i].file.begin, static_cast<Offset>(i * kPage));
        EXPECT_EQ(places[i].device, static_cast<Offset>((1000 - i) * kPage));
    }
    EXPECT_EQ(simulated.calls, (200 + static_cast<int>(simulated.most_at_once) - 1) /
                                   static_cast<int>(simulated.most_at_once));
    EXPECT_EQ(places_of(file, {0, 200 * 4096}, 100).size(), 100U);
}

TEST(DiskMap, NoByteHasAPlaceWhereTheFileSystemTellsNone) {
    for (const int error : {EOPNOTSUPP, ENOTTY, EBADF}) {
        EXPECT_TRUE(
            places_of({.extents = {extent(0, 0, kPage)}, .error = error}, {0, 4096}).empty());
        EXPECT_EQ(simulated.calls, 1);
    }
}

TEST(DiskMap, AnAnswerThatLeadsNowhereEndsTheQuestion) {
    EXPECT_EQ(places_of({.extents = {extent(0, kPage, kPage)}, .stuck = true}, {0, 8192}).size(),
              1U);
    EXPECT_EQ(simulated.calls, 2);
}

}  // namespace
}  // namespace oratorio
