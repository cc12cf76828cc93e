// SPDX-License-Identifier: BSD-3-Clause
// One suite for every store: the contract on which the engine relies, whatever moves the bytes.
#include "store/store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <map>

#include "store/transfer.hpp"
#include "support/memory_store.hpp"
#include "support/random.hpp"
#include "support/same_bytes.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::store_test {
namespace {

using test::MemoryDisk;
using test::MemoryStore;
using test::Random;
using test::random_bytes;
using test::same_bytes;

constexpr OpenMode kReadWrite{.read = true, .write = true, .create = true};

// A case of the suite: the kind of store, and the place of its file.
struct StoreCase {
    const char* kind;
    bool direct = false;
    bool tmpfs = false;  // the file is in /dev/shm instead of the folder of temporary files
};

std::string name_of(const StoreCase& one) {
    const std::string name = one.kind;
    return name + (one.direct ? "_direct" : "") + (one.tmpfs ? "_tmpfs" : "");
}

void PrintTo(const StoreCase& one, std::ostream* out) {
    *out << name_of(one);
}

class AnyStore : public testing::TestWithParam<StoreCase> {
  protected:
    AnyStore() : folder_(GetParam().tmpfs ? "/dev/shm" : std::filesystem::temp_directory_path()) {}

    void SetUp() override {
        auto opened = open(kReadWrite);
        if (!opened.ok() && kind() == "uring" &&
            opened.error().kind == ErrorKind::unsupported_operation) {
            GTEST_SKIP() << describe(opened.error(), path());
        }
        ASSERT_TRUE(opened.ok()) << describe(opened.error(), path());
        store_ = std::move(*opened);
    }

    [[nodiscard]] std::string kind() const { return GetParam().kind; }
    [[nodiscard]] bool maps() const { return kind() != "uncached" && kind() != "cached_reads"; }
    [[nodiscard]] std::string path() const { return folder_.file("data"); }
    Result<std::unique_ptr<Store>> open(OpenMode mode) {
        mode.direct_read = mode.direct_write = GetParam().direct;
        if (kind() == "posix") return open_posix(path(), mode);
        if (kind() == "uring") return open_uring(path(), mode, 4);
        if (kind() == "threaded") return open_threaded(path(), mode, 4);
        if (kind() == "uncached") return open_uncached(path(), mode);
        if (kind() == "cached_reads") return open_cached_reads(path(), mode);
        const bool asynchronous = kind() == "memory_queued";
        return std::unique_ptr<Store>(std::make_unique<MemoryStore>(
            disk_, test::MemoryStoreOptions{.mode = mode, .asynchronous = asynchronous}));
    }
    void write(Offset offset, std::vector<std::byte> bytes) {
        const auto done = transfer(*store_, Direction::write, offset, bytes);
        ASSERT_EQ(done.error.kind, ErrorKind::none) << describe(done.error, path());
        ASSERT_EQ(done.bytes, static_cast<Bytes>(bytes.size()));
    }
    std::vector<std::byte> read(Offset offset, std::size_t length) {
        std::vector<std::byte> bytes(length, std::byte{0xee});
        const auto done = transfer(*store_, Direction::read, offset, bytes);
        EXPECT_EQ(done.error.kind, ErrorKind::none) << describe(done.error, path());
        bytes.resize(static_cast<std::size_t>(done.bytes));
        return bytes;
    }

    test::TemporaryFolder folder_;
    MemoryDisk disk_;
    std::unique_ptr<Store> store_;
};

TEST_P(AnyStore, reads_back_what_was_written) {
    const auto bytes = random_bytes(100'000, 1);
    write(12'345, bytes);
    EXPECT_EQ(read(12'345, bytes.size()), bytes);
    EXPECT_EQ(*store_->size(), 112'345);
    EXPECT_EQ(read(0, 12'345), std::vector<std::byte>(12'345));  // the part before the data is a
                                                                 // hole
}

TEST_P(AnyStore, a_piece_that_is_moved_by_a_single_call_is_moved_as_by_a_request) {
    auto bytes = random_bytes(8192, 4);
    write(0, bytes);
    auto piece = random_bytes(512, 5);
    const iovec written{piece.data(), piece.size()};
    const bool moves = kind() == "posix" && !GetParam().direct;
    EXPECT_EQ(store_->move_piece(Direction::write, 1000, written), moves);
    EXPECT_EQ(read(1000, piece.size()) == piece, moves);
    std::vector<std::byte> back(512);
    const iovec into{back.data(), back.size()};
    EXPECT_EQ(store_->move_piece(Direction::read, 2000, into), moves);
    EXPECT_EQ(std::ranges::equal(back, std::span(bytes).subspan(2000, 512)), moves);
    EXPECT_FALSE(store_->move_piece(Direction::read, 8000, into)) << "the file's end is inside";
    EXPECT_FALSE(store_->move_piece(Direction::write, 0, {bytes.data(), bytes.size()})) << "large";
    auto reader = open({.read = true});
    ASSERT_TRUE(reader.ok());
    EXPECT_FALSE((*reader)->move_piece(Direction::write, 1000, written)) << "not open for writing";
}

TEST_P(AnyStore, offsets_past_32_bits_work) {
    const auto bytes = random_bytes(5'000, 2);
    const Offset far = (Offset{1} << 40) + 7;
    write(far, bytes);
    EXPECT_EQ(read(far, bytes.size()), bytes);
    EXPECT_EQ(*store_->size(), far + 5'000);
}

TEST_P(AnyStore, a_read_at_the_end_of_file_is_short_and_past_it_gives_nothing) {
    write(0, random_bytes(100, 3));
    EXPECT_EQ(read(60, 100).size(), 40U);
    EXPECT_EQ(read(100, 10).size(), 0U);
    EXPECT_EQ(read(5'000, 10).size(), 0U);
}

TEST_P(AnyStore, scattered_memory_is_gathered_in_order) {
    auto bytes = random_bytes(100, 4);
    std::vector<iovec> pieces;
    for (std::size_t at : {80U, 0U, 40U}) pieces.push_back({bytes.data() + at, 20});
    pieces.insert(pieces.begin() + 1, iovec{nullptr, 0});
    Transfer transfer(*store_);
    transfer.start(Direction::write, 10, pieces, 77);
    Transferred done;
    ASSERT_TRUE(transfer.poll(done, true));
    EXPECT_EQ(done.token, 77U);
    EXPECT_EQ(done.bytes, 60);
    std::vector<std::byte> expected(bytes.begin() + 80, bytes.end());
    expected.insert(expected.end(), bytes.begin(), bytes.begin() + 20);
    expected.insert(expected.end(), bytes.begin() + 40, bytes.begin() + 60);
    EXPECT_EQ(read(10, 60), expected);
}

TEST_P(AnyStore, submit_and_reap_honour_the_queue_depth_and_give_tokens_back) {
    const int depth = store_->limits().queue_depth;
    auto bytes = random_bytes(64, 5);
    const iovec piece{bytes.data(), bytes.size()};
    std::uint64_t token = 100;
    while (store_->submit({Direction::write, 0, std::span(&piece, 1), token}) != Submitted::full) {
        ++token;
        ASSERT_LE(token, 100U + depth);
    }
    EXPECT_EQ(token, 100U + depth);
    std::map<std::uint64_t, Bytes> reaped;
    std::array<IoCompletion, 3> out;
    while (const std::size_t count = store_->reap(out, true)) {
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(out[i].system_errno, 0);
            reaped[out[i].token] = out[i].bytes;
        }
    }
    EXPECT_EQ(reaped.size(), static_cast<std::size_t>(depth));
    for (const auto& [id, moved] : reaped) EXPECT_EQ(moved, 64) << id;
}

TEST_P(AnyStore, many_requests_at_once_all_arrive) {
    constexpr std::size_t kCount = 200;
    auto bytes = random_bytes(kCount * 1'000, 6);
    Transfer transfer(*store_);
    for (std::size_t i = 0; i < kCount; ++i) {
        transfer.start(Direction::write, static_cast<Offset>(i * 1'000),
                       std::span(bytes).subspan(i * 1'000, 1'000), i);
    }
    EXPECT_EQ(transfer.outstanding(), kCount);
    std::vector<bool> seen(kCount);
    Transferred done;
    while (transfer.poll(done, true)) {
        EXPECT_EQ(done.bytes, 1'000);
        EXPECT_FALSE(seen[done.token]);
        seen[done.token] = true;
    }
    EXPECT_EQ(transfer.outstanding(), 0U);
    EXPECT_EQ(std::ranges::count(seen, true), static_cast<std::ptrdiff_t>(kCount));
    EXPECT_EQ(read(0, bytes.size()), bytes);
}

TEST_P(AnyStore, more_pieces_than_one_request_takes_are_split) {
    const std::size_t count = static_cast<std::size_t>(store_->limits().iovecs_max) * 3 + 5;
    auto bytes = random_bytes(count * 2, 7);
    std::vector<iovec> pieces;
    std::vector<std::byte> expected;
    for (std::size_t i = 0; i < count; ++i) {
        pieces.push_back({bytes.data() + 2 * i, 1});
        expected.push_back(bytes[2 * i]);
    }
    Transfer transfer(*store_);
    transfer.start(Direction::write, 3, pieces, 1);
    Transferred done;
    ASSERT_TRUE(transfer.poll(done, true));
    EXPECT_EQ(done.bytes, static_cast<Bytes>(count));
    EXPECT_EQ(transfer.calls(), 4U);
    EXPECT_EQ(read(3, count), expected);
}

TEST_P(AnyStore, resize_truncates_and_extends_with_zeros) {
    write(0, random_bytes(1'000, 8));
    ASSERT_TRUE(store_->resize(10, false).ok());
    EXPECT_EQ(*store_->size(), 10);
    ASSERT_TRUE(store_->resize(500, false).ok());
    EXPECT_EQ(*store_->size(), 500);
    EXPECT_EQ(read(10, 490), std::vector<std::byte>(490));
}

TEST_P(AnyStore, allocating_extends_but_never_shrinks_nor_changes_data) {
    const auto bytes = random_bytes(1'000, 9);
    write(0, bytes);
    ASSERT_TRUE(store_->resize(100, true).ok());
    EXPECT_EQ(*store_->size(), 1'000);
    ASSERT_TRUE(store_->resize(0, true).ok());
    EXPECT_EQ(*store_->size(), 1'000);
    ASSERT_TRUE(store_->resize(300'000, true).ok());
    EXPECT_EQ(*store_->size(), 300'000);
    EXPECT_EQ(read(0, 1'000), bytes);
    EXPECT_EQ(read(1'000, 299'000), std::vector<std::byte>(299'000));
}

TEST_P(AnyStore, a_transfer_in_a_direction_not_opened_is_an_error) {
    write(0, random_bytes(10, 10));
    auto reader = open({.read = true});
    ASSERT_TRUE(reader.ok());
    std::vector<std::byte> bytes(10);
    auto done = transfer(**reader, Direction::write, 4, bytes);
    EXPECT_EQ(done.error.kind, ErrorKind::io);
    EXPECT_EQ(done.error.system_errno, EBADF);
    EXPECT_EQ(done.error.offset, 4);
    EXPECT_EQ(done.error.length, 10);
    EXPECT_EQ(done.bytes, 0);
    auto writer = open({.write = true});
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(transfer(**writer, Direction::read, 0, bytes).error.kind, ErrorKind::io);
}

TEST_P(AnyStore, syncs_locks_and_closes) {
    write(0, random_bytes(10, 11));
    EXPECT_TRUE(store_->sync().ok());
    EXPECT_TRUE(store_->lock({0, 10}, true, true).ok());
    EXPECT_TRUE(store_->lock({0, 10}, true, false).ok());
    EXPECT_TRUE(store_->lock({5, 5}, true, true).ok());
    EXPECT_TRUE(store_->lock({0, 10}, false, false).ok());
    EXPECT_TRUE(store_->close().ok());
    EXPECT_TRUE(store_->close().ok());
}

TEST_P(AnyStore, locks_of_others_are_seen_and_its_own_are_not) {
    auto other = open(kReadWrite);
    ASSERT_TRUE(other.ok());
    const Extent range{Offset{1} << 62, (Offset{1} << 62) + 1};
    const auto seen = [&range](Store& store) {
        const auto locked = store.is_locked_elsewhere(range);
        return locked.ok() && *locked;
    };
    EXPECT_TRUE(store_->lock(range, true, false).ok());
    EXPECT_FALSE(seen(*store_));
    EXPECT_TRUE(seen(**other));
    EXPECT_TRUE((*other)->lock(range, true, false).ok());
    EXPECT_TRUE(seen(*store_));
    EXPECT_TRUE((*other)->close().ok());
    EXPECT_FALSE(seen(*store_));
}

TEST_P(AnyStore, a_transfer_destroyed_early_leaves_the_store_usable) {
    auto bytes = random_bytes(50'000, 12);
    {
        std::vector<std::byte> gone(50'000);
        Transfer transfer(*store_);
        for (int i = 0; i < 20; ++i) transfer.start(Direction::write, 0, gone, 1);
    }
    write(0, bytes);
    EXPECT_EQ(read(0, bytes.size()), bytes);
}

TEST_P(AnyStore, two_transfers_over_one_store_see_only_their_own_requests) {
    auto bytes = random_bytes(20'000, 13);
    Transfer one(*store_);
    Transfer two(*store_);
    for (std::size_t i = 0; i < 20; ++i) {
        Transfer& chosen = i % 2 == 0 ? one : two;
        chosen.start(Direction::write, static_cast<Offset>(i * 1'000),
                     std::span(bytes).subspan(i * 1'000, 1'000), i);
    }
    Transferred done;
    std::size_t polled = 0;
    for (; two.poll(done, true); ++polled) EXPECT_EQ(done.token % 2, 1U);
    for (; one.poll(done, true); ++polled) EXPECT_EQ(done.token % 2, 0U);
    EXPECT_EQ(polled, 20U);
    EXPECT_EQ(read(0, bytes.size()), bytes);
}

// Whatever the offset, the length, the place in memory and the pieces, every store must move the
// same bytes.
TEST_P(AnyStore, ragged_transfers_keep_every_byte) {
    Random random(14);
    constexpr Bytes kSpace = 300'000;
    std::vector<std::byte> oracle(kSpace);
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(4096, 1 << 20)), &std::free);
    write(0, oracle);
    for (int step = 0; step < 300; ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        // Alignments of all kinds occur, also the same alignment in file and memory.
        const Bytes unit = std::array<Bytes, 4>{1, 16, 512, 4096}[random.below(4)];
        const Offset offset = random.between(0, (kSpace - 1) / unit) * unit;
        const Bytes length = std::min(random.between(1, 200'000), kSpace - offset);
        const Bytes shift = random.chance(50) ? offset % 4096 : random.between(0, 8'191);
        const std::span bytes(memory.get() + shift, static_cast<std::size_t>(length));
        std::vector<iovec> pieces;
        for (std::size_t at = 0; at < bytes.size();) {
            const auto whole = static_cast<std::size_t>(random.between(1, 100'000) / unit * unit);
            const auto some = std::min(std::max<std::size_t>(whole, 1), bytes.size() - at);
            pieces.push_back({bytes.data() + at, some});
            at += some;
        }
        const bool writing = random.chance(60);
        if (writing) std::ranges::copy(random_bytes(bytes.size(), random.next()), bytes.begin());
        const auto place =
            std::span(oracle).subspan(static_cast<std::size_t>(offset), bytes.size());
        if (writing) std::ranges::copy(bytes, place.begin());
        Transfer transfer(*store_);
        transfer.start(writing ? Direction::write : Direction::read, offset, pieces, 1);
        Transferred done;
        ASSERT_TRUE(transfer.poll(done, true));
        ASSERT_EQ(done.error.kind, ErrorKind::none) << describe(done.error, path());
        ASSERT_EQ(done.bytes, length);
        ASSERT_TRUE(same_bytes(bytes, place));
    }
    EXPECT_TRUE(same_bytes(read(0, oracle.size() + 10), oracle));
    if (kind().starts_with("memory")) return;
    const auto buffered = open_posix(path(), {.read = true});
    ASSERT_TRUE(buffered.ok());
    std::vector<std::byte> back(oracle.size());
    EXPECT_EQ(transfer(**buffered, Direction::read, 0, back).bytes, kSpace);
    EXPECT_EQ(back, oracle);
}

TEST_P(AnyStore, a_mapped_write_is_read_and_a_write_is_seen_in_a_mapping) {
    if (!maps()) GTEST_SKIP() << "this store cannot map pages";
    ASSERT_TRUE(store_->limits().mappable);
    const auto bytes = random_bytes(10'000, 15);
    {
        auto mapped = store_->map({5'000, 15'000}, Direction::write, Populate::yes);
        ASSERT_TRUE(mapped.ok()) << describe(mapped.error(), path());
        EXPECT_EQ(mapped->range(), (Extent{5'000, 15'000}));
        EXPECT_TRUE(
            mapped->guarded([&] { std::ranges::copy(bytes, mapped->bytes().begin()); }).ok());
    }
    EXPECT_EQ(*store_->size(), 15'000);
    EXPECT_EQ(read(0, 5'000), std::vector<std::byte>(5'000));
    EXPECT_EQ(read(5'000, 20'000), bytes);
    auto view = store_->map({7'000, 40'000}, Direction::read, Populate::yes);
    ASSERT_TRUE(view.ok());
    ASSERT_EQ(view->bytes().size(), 8'000U);  // the view ends at the end of the file
    std::vector<std::byte> back(8'000);
    EXPECT_TRUE(view->guarded([&] { std::ranges::copy(view->bytes(), back.begin()); }).ok());
    EXPECT_TRUE(std::ranges::equal(back, std::span(bytes).subspan(2'000)));
}

TEST_P(AnyStore, mapping_for_a_write_never_shrinks_and_past_the_end_there_is_nothing_to_read) {
    if (!maps()) GTEST_SKIP() << "this store cannot map pages";
    const auto bytes = random_bytes(50'000, 16);
    write(0, bytes);
    EXPECT_TRUE(store_->map({10, 100}, Direction::write, Populate::no).ok());
    EXPECT_EQ(*store_->size(), 50'000);
    EXPECT_EQ(read(0, 50'000), bytes);
    auto past = store_->map({50'000, 60'000}, Direction::read, Populate::no);
    ASSERT_TRUE(past.ok());
    EXPECT_TRUE(past->bytes().empty());
    EXPECT_TRUE(past->guarded([] {}).ok());
}

TEST_P(AnyStore, mapping_needs_the_matching_open_mode) {
    if (!maps()) GTEST_SKIP() << "this store cannot map pages";
    write(0, random_bytes(10, 17));
    auto writer = open({.write = true});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE((*writer)->limits().mappable);
    auto mapped = (*writer)->map({0, 10}, Direction::write, Populate::no);
    ASSERT_FALSE(mapped.ok());
    EXPECT_EQ(mapped.error().kind, ErrorKind::unsupported_operation);
    auto reader = open({.read = true});
    ASSERT_TRUE(reader.ok());
    EXPECT_TRUE((*reader)->limits().mappable);
    EXPECT_TRUE((*reader)->map({0, 10}, Direction::read, Populate::no).ok());
    auto written = (*reader)->map({0, 10}, Direction::write, Populate::no);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().kind, ErrorKind::io);
    EXPECT_EQ(written.error().system_errno, EBADF);
}

INSTANTIATE_TEST_SUITE_P(
    Stores, AnyStore,
    testing::Values(StoreCase{"posix"}, StoreCase{"posix", true}, StoreCase{"uring"},
                    StoreCase{"uring", true}, StoreCase{"threaded"}, StoreCase{"threaded", true},
                    StoreCase{"posix", false, true}, StoreCase{"posix", true, true},
                    StoreCase{"uring", false, true}, StoreCase{"uring", true, true},
                    StoreCase{"threaded", false, true}, StoreCase{"threaded", true, true},
                    StoreCase{"uncached"}, StoreCase{"uncached", false, true},
                    StoreCase{"cached_reads"}, StoreCase{"memory"}, StoreCase{"memory_queued"}),
    [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace oratorio::test::store_test
