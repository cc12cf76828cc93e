// SPDX-License-Identifier: BSD-3-Clause
// Mapped files with pages that cannot be allocated or read, and files that several processes extend
// at the same time.
#include "store/mapped.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "small_disk.hpp"
#include "store/transfer.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::mapped_test {
namespace {

constexpr OpenMode kReadWrite{.read = true, .write = true, .create = true};
const Bytes kPage = ::sysconf(_SC_PAGESIZE);

std::unique_ptr<Store> opened(const std::string& path, const OpenMode& mode = kReadWrite) {
    auto store = open_posix(path, mode);
    EXPECT_TRUE(store.ok()) << describe(store.error(), path);
    return std::move(*store);
}

/// Fills the bytes in ascending order, as the callers of guarded() do. memset and memcpy may use
/// another order.
Result<void> fill(Mapped& mapped, std::byte value) {
    return mapped.guarded([&] {
        volatile std::byte* const to = mapped.bytes().data();
        for (std::size_t i = 0; i < mapped.bytes().size(); ++i) to[i] = value;
    });
}
Result<void> fetch(Mapped& mapped, std::span<std::byte> memory) {
    return mapped.guarded([&] {
        const volatile std::byte* const from = mapped.bytes().data();
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = from[i];
    });
}

Bytes leading(Store& store, Offset from, Bytes most, std::byte value) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(most));
    bytes.resize(static_cast<std::size_t>(transfer(store, Direction::read, from, bytes).bytes));
    const auto other = std::ranges::find_if(bytes, [&](std::byte at) { return at != value; });
    return other - bytes.begin();
}

TEST(Mapped, ranges_of_any_alignment_are_exactly_those_bytes) {
    const test::TemporaryFolder folder;
    auto store = opened(folder.file("data"));
    test::Random random(1);
    std::vector<std::byte> oracle(100'000);
    for (int step = 0; step < 200; ++step) {
        const Offset begin = random.between(0, 99'999);
        const Offset end = random.between(begin + 1, 100'000);
        auto mapped = store->map({begin, end}, Direction::write,
                                 random.chance(50) ? Populate::yes : Populate::no);
        ASSERT_TRUE(mapped.ok());
        ASSERT_EQ(mapped->range(), (Extent{begin, end}));
        const auto value = static_cast<std::byte>(step);
        ASSERT_TRUE(fill(*mapped, value).ok());
        std::fill(oracle.begin() + begin, oracle.begin() + end, value);
    }
    std::vector<std::byte> back(static_cast<std::size_t>(*store->size()));
    EXPECT_EQ(transfer(*store, Direction::read, 0, back).bytes, *store->size());
    oracle.resize(back.size());
    EXPECT_EQ(back, oracle);
}

TEST(Mapped, extending_gives_storage_to_the_end_only) {
    const test::TemporaryFolder folder;
    auto store = opened(folder.file("data"));
    ASSERT_TRUE(store->map({0, 64 << 20}, Direction::write, Populate::no).ok());
    struct stat status {};
    ASSERT_EQ(::stat(folder.file("data").c_str(), &status), 0);
    EXPECT_EQ(status.st_size, 64 << 20);
    EXPECT_LE(status.st_blocks * 512, 1 << 20);
}

TEST(Mapped, is_movable) {
    const test::TemporaryFolder folder;
    auto store = opened(folder.file("data"));
    auto first = store->map({0, 10}, Direction::write, Populate::no);
    auto second = store->map({10, 30}, Direction::write, Populate::no);
    ASSERT_TRUE(first.ok() && second.ok());
    Mapped moved = std::move(*first);
    moved = std::move(*second);
    EXPECT_TRUE(fill(moved, std::byte{5}).ok());
    EXPECT_EQ(leading(*store, 10, 20, std::byte{5}), 20);
}

TEST(Mapped, rejects_special_files) {
    auto store = opened("/dev/zero", {.read = true});
    EXPECT_FALSE(store->limits().mappable);
    const auto mapped = store->map({0, 10}, Direction::read, Populate::no);
    ASSERT_FALSE(mapped.ok());
    EXPECT_EQ(mapped.error().kind, ErrorKind::unsupported_operation);
}

TEST(Mapped, a_file_cut_short_under_a_mapping_is_an_error_at_the_first_page_that_is_gone) {
    const test::TemporaryFolder folder;
    for (const Direction direction : {Direction::read, Direction::write}) {
        auto store = opened(folder.file("data"));
        ASSERT_TRUE(store->resize(10 * kPage, true).ok());
        auto mapped = store->map({100, 10 * kPage}, direction, Populate::no);
        ASSERT_TRUE(mapped.ok());
        ASSERT_TRUE(opened(folder.file("data"))->resize(3 * kPage + 1, false).ok());
        std::vector<std::byte> memory(mapped->bytes().size());
        const auto result =
            direction == Direction::write ? fill(*mapped, std::byte{1}) : fetch(*mapped, memory);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().kind, ErrorKind::io);
        EXPECT_EQ(result.error().system_errno, EIO);
        EXPECT_EQ(result.error().offset, 4 * kPage);
        EXPECT_EQ(result.error().length, 6 * kPage);
    }
}

TEST(Mapped, the_offset_of_a_fault_is_never_before_the_range) {
    const test::TemporaryFolder folder;
    auto store = opened(folder.file("data"));
    ASSERT_TRUE(store->resize(4 * kPage, true).ok());
    auto mapped = store->map({kPage + 100, 2 * kPage}, Direction::read, Populate::no);
    ASSERT_TRUE(mapped.ok());
    ASSERT_TRUE(store->resize(0, false).ok());
    const auto result = mapped->guarded(
        [&] { [[maybe_unused]] const volatile std::byte touched = mapped->bytes().front(); });
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().offset, kPage + 100);
}

TEST(Mapped, a_full_disk_is_no_space_and_everything_before_its_offset_is_there) {
    const test::SmallDisk disk("1m");
    if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    for (const Populate populate : {Populate::no, Populate::yes}) {
        auto store = opened(disk.file("data"));
        ASSERT_TRUE(store->resize(0, false).ok());
        auto mapped = store->map({100, 2 << 20}, Direction::write, populate);
        ASSERT_TRUE(mapped.ok()) << describe(mapped.error(), "");
        const auto result = fill(*mapped, std::byte{7});
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().kind, ErrorKind::no_space);
        EXPECT_EQ(result.error().system_errno, ENOSPC);
        EXPECT_GT(result.error().offset, 900'000);
        EXPECT_LT(result.error().offset, 1 << 20);
        EXPECT_EQ(result.error().offset % kPage, 0);
        EXPECT_EQ(result.error().length, (2 << 20) - result.error().offset);
        EXPECT_EQ(leading(*store, 100, 2 << 20, std::byte{7}), result.error().offset - 100);
    }
}

TEST(Mapped, holes_of_a_full_disk_read_as_zeros) {
    const test::SmallDisk disk("1m");
    if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    constexpr Bytes kPages = 40;
    auto store = opened(disk.file("data"));
    ASSERT_TRUE(store->resize(kPages * kPage - 100, false).ok());
    std::vector<std::byte> oracle(static_cast<std::size_t>(kPages * kPage - 100));
    std::vector<std::byte> some(static_cast<std::size_t>(kPage / 2), std::byte{7});
    for (const Offset page : {3, 4, 20}) {
        ASSERT_EQ(transfer(*store, Direction::write, page * kPage + 10, some).bytes, kPage / 2);
        std::ranges::copy(some, oracle.begin() + page * kPage + 10);
    }
    std::vector<std::byte> filler(1 << 20);
    auto other = opened(disk.file("filler"));
    ASSERT_EQ(transfer(*other, Direction::write, 0, filler).error.kind, ErrorKind::no_space);
    auto mapped = store->map({100, kPages * kPage}, Direction::read, Populate::yes);
    ASSERT_TRUE(mapped.ok());
    std::vector<std::byte> found(mapped->bytes().size());
    const auto copied = fetch(*mapped, found);
    ASSERT_TRUE(copied.ok()) << describe(copied.error(), "");
    EXPECT_TRUE(std::equal(found.begin(), found.end(), oracle.begin() + 100, oracle.end()));
    // A later window shows data that is written after the first window was mapped.
    ASSERT_TRUE(other->resize(0, false).ok());
    ASSERT_EQ(transfer(*store, Direction::write, 10 * kPage, some).bytes, kPage / 2);
    EXPECT_EQ(leading(*store, 10 * kPage, kPage, std::byte{7}), kPage / 2);
    auto again = store->map({10 * kPage, 11 * kPage}, Direction::read, Populate::no);
    ASSERT_TRUE(again.ok());
    std::byte first{};
    ASSERT_TRUE(again->guarded([&] { first = again->bytes().front(); }).ok());
    EXPECT_EQ(first, std::byte{7});
}

TEST(Mapped, a_disk_without_room_for_the_new_end_is_no_space_and_the_file_stays_as_it_is) {
    const test::SmallDisk disk("1m");
    if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    auto store = opened(disk.file("data"));
    ASSERT_TRUE(store->resize(1000, true).ok());
    std::vector<std::byte> filler(1 << 20);
    EXPECT_EQ(transfer(*opened(disk.file("filler")), Direction::write, 0, filler).error.kind,
              ErrorKind::no_space);
    const auto mapped = store->map({0, 100'000}, Direction::write, Populate::no);
    ASSERT_FALSE(mapped.ok());
    EXPECT_EQ(mapped.error().kind, ErrorKind::no_space);
    EXPECT_EQ(*store->size(), 1000);
    auto old = store->map({0, 1000}, Direction::write, Populate::no);
    ASSERT_TRUE(old.ok());
    EXPECT_TRUE(fill(*old, std::byte{1}).ok());
}

// Does the work of one process: writes windows number, number + count, and so on of the file.
int write_windows(const std::string& path, int number, int count) {
    constexpr Bytes kWindow = 10'000;  // not whole pages, so that neighbouring windows share pages
    auto store = open_posix(path, {.read = true, .write = true});
    for (int window = number; store.ok() && window < 300; window += count) {
        const Extent range{window * kWindow, (window + 1) * kWindow};
        auto mapped = (*store)->map(range, Direction::write, Populate::no);
        if (!mapped || !fill(*mapped, static_cast<std::byte>(number + 1))) return 1;
    }
    return store.ok() ? 0 : 1;
}

// The file is on a memory file system, because on ext4 stores through such mappings are sometimes
// lost, in any program (docs/internals/decisions/stores.md).
TEST(Mapped, processes_that_extend_one_file_at_once_lose_nothing) {
    constexpr int kProcesses = 4;
    const test::TemporaryFolder folder("/dev/shm");
    auto store = opened(folder.file("data"));
    for (int number = 0; number < kProcesses; ++number) {
        if (::fork() == 0) ::_exit(write_windows(folder.file("data"), number, kProcesses));
    }
    for (int number = 0; number < kProcesses; ++number) {
        int status = -1;
        ASSERT_GT(::wait(&status), 0);
        EXPECT_EQ(status, 0);
    }
    ASSERT_EQ(*store->size(), 3'000'000);
    for (int window = 0; window < 300; ++window) {
        const auto value = static_cast<std::byte>(window % kProcesses + 1);
        ASSERT_EQ(leading(*store, window * 10'000, 10'000, value), 10'000) << window;
    }
}

}  // namespace
}  // namespace oratorio::test::mapped_test
