// SPDX-License-Identifier: BSD-3-Clause
// Direct I/O: which bytes bypass the page cache, which do not, and what happens where direct I/O is
// refused.
#include "store/direct.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "store/transfer.hpp"
#include "support/forbidden_calls.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::direct_test {
namespace {

constexpr OpenMode kDirect{
    .read = true, .write = true, .create = true, .direct_read = true, .direct_write = true};

class Aligned {
  public:
    explicit Aligned(std::size_t length)
        : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (length + 4095) / 4096 * 4096))),
          length_(length) {
        std::memset(memory_, 1, length);
    }
    ~Aligned() { std::free(memory_); }
    Aligned(const Aligned&) = delete;
    Aligned& operator=(const Aligned&) = delete;
    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, length_}; }

  private:
    std::byte* memory_;
    std::size_t length_;
};

bool aligned(Offset offset, std::vector<std::pair<std::size_t, std::size_t>> pieces) {
    const Aligned memory(1 << 16);
    std::vector<iovec> list;
    for (const auto& [at, length] : pieces) list.push_back({memory.bytes().data() + at, length});
    return is_aligned({Direction::write, offset, list}, {.file = 4096, .memory = 512});
}

TEST(Direct, a_request_is_aligned_in_the_file_and_in_every_piece_of_memory) {
    EXPECT_TRUE(aligned(0, {{0, 4096}}));
    EXPECT_TRUE(aligned(8192, {{512, 1024}, {8192, 3072}}));
    EXPECT_FALSE(aligned(512, {{0, 4096}}));
    EXPECT_FALSE(aligned(0, {{0, 4608}}));
    EXPECT_FALSE(aligned(0, {{256, 4096}}));
    EXPECT_FALSE(aligned(0, {{0, 2000}, {8192, 2096}}));
    EXPECT_FALSE(aligned(0, {{0, 0}}));
    EXPECT_FALSE(aligned(0, {}));
    const Aligned memory(4096);
    const iovec piece{memory.bytes().data(), 4096};
    EXPECT_FALSE(is_aligned({Direction::read, 0, std::span(&piece, 1)}, {}));
}

TEST(Direct, alignments_are_those_of_the_requested_direction) {
    const test::TemporaryFolder folder;
    OpenMode mode = kDirect;
    mode.direct_read = false;
    const auto store = open_posix(folder.file("data"), mode);
    ASSERT_TRUE(store.ok());
    const StoreLimits& limits = (*store)->limits();
    if (!limits.remark.empty()) GTEST_SKIP() << limits.remark;
    EXPECT_EQ(limits.direct_read.file, 0);
    EXPECT_GE(limits.direct_write.file, 4096);
    EXPECT_GE(limits.direct_write.memory, 512);
    EXPECT_LE(limits.direct_write.memory, 4096);
}

// Returns the number of pages in this range of a file that are in the page cache.
std::size_t resident_pages(const std::string& path, Extent range) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto length = static_cast<std::size_t>(range.length());
    void* memory = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file, range.begin);
    std::vector<unsigned char> pages(length / 4096);
    EXPECT_EQ(::mincore(memory, length, pages.data()), 0);
    ::munmap(memory, length);
    ::close(file);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
}

void drop_cached_pages(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(::fsync(file), 0);
    EXPECT_EQ(::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
    ::close(file);
}

TEST(Direct, the_middle_of_a_ragged_transfer_goes_past_the_page_cache) {
    if (::sysconf(_SC_PAGESIZE) != 4096) GTEST_SKIP() << "written for pages of 4096 bytes";
    const test::TemporaryFolder folder;
    const std::string path = folder.file("data");
    auto store = open_posix(path, kDirect);
    ASSERT_TRUE(store.ok());
    if (DirectFile file = open_direct(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        file.alignment.memory == 4096 || file.alignment.file != 4096) {
        GTEST_SKIP() << "this file system doesn't report direct I/O";
    }
    const Aligned memory(1 << 20);
    const auto middle = Extent{4096, (1 << 20) - 4096};
    // Greatest number of pages that the system reads ahead at an end that is not aligned.
    constexpr std::size_t kReadAhead = 80;
    for (const Direction direction : {Direction::write, Direction::read}) {
        const auto bytes = memory.bytes().subspan(100, (1 << 20) - 300);
        EXPECT_EQ(transfer(**store, direction, 100, bytes).bytes, (1 << 20) - 300);
        EXPECT_LE(resident_pages(path, middle), kReadAhead) << name_of(direction);
        drop_cached_pages(path);
    }
    EXPECT_EQ(transfer(**store, Direction::read, 101, memory.bytes().first(1 << 19)).bytes,
              1 << 19);
    EXPECT_GT(resident_pages(path, middle), kReadAhead);  // the alignments of file and memory
                                                          // differ, so that the page cache is used
}

TEST(Direct, a_read_across_the_end_of_file_is_short_and_no_error) {
    const test::TemporaryFolder folder;
    auto store = open_posix(folder.file("data"), kDirect);
    ASSERT_TRUE(store.ok());
    const Aligned memory(1 << 16);
    ASSERT_EQ(transfer(**store, Direction::write, 0, memory.bytes().first(10'001)).bytes, 10'001);
    const auto done = transfer(**store, Direction::read, 4096, memory.bytes());
    EXPECT_EQ(done.bytes, 10'001 - 4096);
    EXPECT_EQ(done.error.kind, ErrorKind::none);
}

TEST(Direct, if_opening_is_refused_uses_the_page_cache_and_remarks_it) {
    OpenMode mode{.read = true, .direct_read = true};
    auto store = open_posix("/proc/self/status", mode);
    ASSERT_TRUE(store.ok());
    EXPECT_NE((*store)->limits().remark.find("direct I/O"), std::string::npos);
    EXPECT_EQ((*store)->limits().direct_read.file, 0);
    const Aligned memory(4096);
    EXPECT_GT(transfer(**store, Direction::read, 0, memory.bytes()).bytes, 100);
}

// Returns the one descriptor of this process that is open for direct I/O.
int direct_descriptor() {
    for (int number = 3; number < 1024; ++number) {
        const int flags = ::fcntl(number, F_GETFL);
        if (flags >= 0 && (flags & O_DIRECT) != 0) return number;
    }
    return -1;
}

TEST(Direct, if_the_first_transfer_is_refused_uses_the_page_cache_and_remarks_it) {
    const test::TemporaryFolder folder;
    auto store = open_posix(folder.file("data"), kDirect);
    ASSERT_TRUE(store.ok());
    if (!(*store)->limits().remark.empty()) GTEST_SKIP() << (*store)->limits().remark;
    const Aligned memory(1 << 16);
    bool refused = false;
    Transferred done;
    std::thread([&] {
        refused =
            test::forbid({SYS_pwritev, SYS_preadv, SYS_pwrite64, SYS_pread64}, EINVAL,
                         test::ArgumentTest{.value = static_cast<unsigned>(direct_descriptor())});
        done = transfer(**store, Direction::write, 0, memory.bytes());
    }).join();
    if (!refused) GTEST_SKIP() << "this kernel has no system call filters";
    EXPECT_EQ(done.bytes, 1 << 16);
    EXPECT_EQ(done.error.kind, ErrorKind::none);
    EXPECT_NE((*store)->limits().remark.find("direct I/O"), std::string::npos);
    EXPECT_EQ((*store)->limits().direct_write.file, 0);
}

// The test replaces the direct descriptor with one whose file returns EINVAL.
TEST(Direct, uring_repeats_a_refused_request_by_the_page_cache) {
    const test::TemporaryFolder folder;
    auto store = open_uring(folder.file("data"), kDirect, 4);
    if (!store.ok()) GTEST_SKIP() << describe(store.error(), "");
    if (!(*store)->limits().remark.empty()) GTEST_SKIP() << (*store)->limits().remark;
    const Aligned memory(1 << 19);
    ASSERT_EQ(transfer(**store, Direction::write, 0, memory.bytes()).bytes, 1 << 19);
    const int refusing = ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(::dup2(refusing, direct_descriptor()), 0);
    ::close(refusing);
    const Aligned back(1 << 19);
    std::memset(back.bytes().data(), 0, back.bytes().size());
    Transfer transfer(**store);
    for (std::size_t i = 0; i < 8; ++i) {
        transfer.start(Direction::read, static_cast<Offset>(i << 16),
                       back.bytes().subspan(i << 16, 1 << 16), 0);
    }
    Transferred done;
    while (transfer.poll(done, true)) {
        EXPECT_EQ(done.bytes, 1 << 16);
        EXPECT_EQ(done.error.kind, ErrorKind::none) << describe(done.error, "");
    }
    EXPECT_TRUE(std::ranges::equal(back.bytes(), memory.bytes()));
    EXPECT_NE((*store)->limits().remark.find("direct I/O"), std::string::npos);
}

}  // namespace
}  // namespace oratorio::test::direct_test
