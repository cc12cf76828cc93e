// SPDX-License-Identifier: BSD-3-Clause
// Prefetch requests for the ranges that come next: to the page cache with fadvise, which the linker
// redirects to this file, and to GPFS through its library, which a stand-in replaces.
#include "store/prefetch.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "store/store.hpp"
#include "support/temporary_folder.hpp"

namespace {

struct Advice {
    off_t begin;
    off_t length;
    int advice;
    bool operator==(const Advice&) const = default;
};
std::vector<Advice> advised;
std::size_t advice_taken = 1000;

}  // namespace

// The linker prescribes the name (--wrap).
extern "C" int __wrap_posix_fadvise(int, off_t begin, off_t length, int advice) {
    if (advised.size() >= advice_taken) return EBADF;
    advised.push_back({begin, length, advice});
    return 0;
}

namespace oratorio {
namespace {

constexpr Bytes kBlock = 1 << 20;

TEST(PageCachePrefetch, AdvisesRangesAndDropsNone) {
    advised.clear();
    const auto prefetch = make_page_cache_prefetch(3);
    const std::vector<Extent> done{{0, 10}}, wanted{{100, 200}, {5000, 5001}};
    EXPECT_EQ(prefetch->move_on(done, wanted, Direction::read), 2U);
    EXPECT_EQ(advised, (std::vector<Advice>{{100, 100, POSIX_FADV_WILLNEED},
                                            {5000, 1, POSIX_FADV_WILLNEED}}));
    EXPECT_EQ(prefetch->block(), 0);
    advice_taken = 3;
    EXPECT_EQ(prefetch->move_on({}, wanted, Direction::read), 1U) << "until it is refused";
    advice_taken = 1000;
}

TEST(Prefetch, StoresWithAPageCacheHaveOneAndTheUncachedStoreHasNone) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("data");
    const OpenMode mode{.read = true, .write = true, .create = true};
    for (auto* const open : {open_posix, open_uncached, open_cached_reads}) {
        auto store = open(path, mode);
        ASSERT_TRUE(store);
        EXPECT_EQ((*store)->prefetch() != nullptr, open == open_posix);
    }
    auto threaded = open_threaded(path, mode, 2);
    ASSERT_TRUE(threaded);
    advised.clear();
    const std::vector<Extent> wanted{{4096, 8192}};
    ASSERT_NE((*threaded)->prefetch(), nullptr);
    EXPECT_EQ((*threaded)->prefetch()->move_on({}, wanted, Direction::read), 1U);
    EXPECT_EQ(advised.size(), 1U) << "no GPFS here";
}

struct Range {
    long long block;
    int start, length, is_write;
    char padding[4];
};
struct Hint {
    int header[4];
    int length, type, wanted_count, released_count;
    Range wanted[8], released[8];
};

/// A fixture that loads the stand-in for the GPFS library and reads the hints that the stand-in
/// has received.
class GpfsPrefetchTest : public testing::Test {
  protected:
    GpfsPrefetchTest()
        : library_(ORATORIO_GPFS_STAND_IN), seen_(::dlopen(ORATORIO_GPFS_STAND_IN, RTLD_LAZY)) {
        number("stand_in_calls") = 0;
        number("stand_in_takes") = 8;
        number("stand_in_fails") = 0;
    }
    ~GpfsPrefetchTest() override { ::dlclose(seen_); }
    int& number(const char* name) { return *static_cast<int*>(::dlsym(seen_, name)); }
    const Hint& hint(int call) {
        return static_cast<Hint*>(::dlsym(seen_, "stand_in_hints"))[call];
    }
    std::unique_ptr<Prefetch> prefetch() { return make_gpfs_prefetch(17, kBlock, library_.call()); }

    GpfsLibrary library_;
    void* seen_;
};

/// Returns one range in each of `count` blocks, from block `first` on.
std::vector<Extent> ranges(int first, int count) {
    std::vector<Extent> all;
    for (int i = first; i < first + count; ++i) all.push_back({i * kBlock + 10, i * kBlock + 110});
    return all;
}

TEST_F(GpfsPrefetchTest, AnnouncesBlocksAndTheRangeInsideThem) {
    ASSERT_NE(library_.call(), nullptr);
    EXPECT_EQ(prefetch()->block(), kBlock);
    EXPECT_EQ(prefetch()->move_on(ranges(3, 1), ranges(5, 2), Direction::write), 2U);
    ASSERT_EQ(number("stand_in_calls"), 1);
    EXPECT_EQ(number("stand_in_descriptor"), 17);
    EXPECT_EQ(hint(0).wanted_count, 2);
    EXPECT_EQ(hint(0).released_count, 1);
    EXPECT_EQ(hint(0).released[0].block, 3);
    EXPECT_EQ(hint(0).wanted[1].block, 6);
    EXPECT_EQ(hint(0).wanted[1].start, 10);
    EXPECT_EQ(hint(0).wanted[1].length, 100);
    EXPECT_EQ(hint(0).wanted[1].is_write, 1);
    prefetch()->move_on({}, ranges(0, 1), Direction::read);
    EXPECT_EQ(hint(1).wanted[0].is_write, 0);
}

TEST_F(GpfsPrefetchTest, GivesNoMoreThanAHintHoldsAtATime) {
    EXPECT_EQ(prefetch()->move_on(ranges(0, 18), ranges(20, 10), Direction::read), 10U);
    ASSERT_EQ(number("stand_in_calls"), 3);
    EXPECT_EQ(hint(0).wanted_count, 8);
    EXPECT_EQ(hint(1).wanted_count, 2);
    EXPECT_EQ(hint(2).wanted_count, 0);
    EXPECT_EQ(hint(2).released_count, 2);
    EXPECT_EQ(hint(1).wanted[0].block, 28);
    EXPECT_EQ(hint(2).released[1].block, 17);
}

TEST_F(GpfsPrefetchTest, AsksForNoMoreWhereTheFileSystemTookLess) {
    number("stand_in_takes") = 3;
    EXPECT_EQ(prefetch()->move_on(ranges(0, 9), ranges(20, 10), Direction::read), 3U);
    ASSERT_EQ(number("stand_in_calls"), 2) << "all are released";
    EXPECT_EQ(hint(1).wanted_count, 0);
    number("stand_in_fails") = 1;
    EXPECT_EQ(prefetch()->move_on(ranges(0, 9), ranges(20, 10), Direction::read), 0U);
}

TEST(Prefetch, GFS2HasNoneBecauseItsPagesWouldBeCachedWithoutALock) {
    constexpr long kGfs2 = 0x01161970, kOcfs2 = 0x7461636F, kLustre = 0x0BD00BD0, kExt4 = 0xEF53;
    EXPECT_EQ(make_prefetch(0, kGfs2, kBlock), nullptr);
    for (const long type : {kOcfs2, kLustre, kExt4})
        EXPECT_NE(make_prefetch(0, type, kBlock), nullptr) << std::hex << type;
}

TEST(GpfsLibrary, MayBeMissing) {
    EXPECT_EQ(GpfsLibrary("libnothing_of_this_name.so").call(), nullptr);
    EXPECT_EQ(GpfsLibrary("libc.so.6").call(), nullptr) << "another library";
}

}  // namespace
}  // namespace oratorio
