// SPDX-License-Identifier: BSD-3-Clause
// Ranks that run concurrently, as processes do, in memory that they share. Only the library orders
// their accesses to the memory. Run with ThreadSanitizer, the tests check every load and store
// (seen_once.cpp); without it, they check the bytes that arrive.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>

#include "comm/node_transport.hpp"
#include "sim/file_ranks.hpp"
#include "support/free_ranks.hpp"
#include "support/leader_ranks.hpp"
#include "support/method_names.hpp"

namespace oratorio::test {
namespace {

constexpr int kRanks = 3;
constexpr Bytes kPiece = 24;
constexpr Bytes kBytes = 24 * 500;  // bytes that a rank moves in one access
constexpr auto kAt = Positioning::explicit_offset;

using Buffer = std::vector<std::byte>;

std::byte value_of(Offset at, int turn) {
    return static_cast<std::byte>(1 + (at * 7 + turn * 31) % 250);
}

/// Returns the layout of a rank's pieces: every kRanks-th piece, from piece `rank` on. With
/// `holes`, only every other one of them is the rank's, and no rank has the rest.
Layout file_of(Rank rank, bool holes) {
    const Bytes tile = kRanks * kPiece * (holes ? 2 : 1);
    return {Shape::run(kPiece), tile, rank * kPiece, Layout::unbounded};
}

Result<View> view_of(Rank rank, bool holes) {
    const Layout file = file_of(rank, holes);
    return View::make(file.origin, 1, file.shape, file.extent, true, "native");
}

Buffer data_of(Rank rank, bool holes, int turn) {
    const Layout file = file_of(rank, holes);
    Buffer data(static_cast<std::size_t>(kBytes));
    for (Bytes i = 0; i < kBytes; ++i)
        data[static_cast<std::size_t>(i)] =
            value_of(file.origin + i / kPiece * file.extent + i % kPiece, turn);
    return data;
}

std::unique_ptr<File> open_at_once(Transport& transport, const OpenCall& call) {
    auto node = NodeTransport::over(std::make_unique<Lent>(transport));
    EXPECT_TRUE(node.ok());
    auto file = File::open(std::make_shared<Workspace>(std::move(*node)), call);
    EXPECT_EQ(kind_of(file), ErrorKind::none);
    return file ? std::move(*file) : nullptr;
}

/// Returns hints for sub-buffers so small that an access takes many rounds and reuses each
/// sub-buffer often.
HintMap small_rounds(const std::string& method, const std::string& store) {
    return {{"oratorio_method", method}, {"oratorio_store", store},
            {"cb_nodes", "2"},           {"cb_buffer_size", "16384"},
            {"oratorio_slots", "4"},     {"oratorio_sub_buffer", "2048"}};
}

void write_and_read_without_a_word(File& file, Rank rank) {
    for (int turn = 0; turn < 6; ++turn) {
        const bool holes = turn % 3 == 2;
        EXPECT_TRUE(file.set_view(view_of(rank, holes), {}).ok());
        for (const int again : {0, 1}) {  // the second time the plan comes from the cache
            Buffer data = data_of(rank, holes, turn + again);
            EXPECT_EQ(file.access(call_for(Direction::write, data, true, kAt)).bytes, kBytes);
            Buffer back(data.size());
            EXPECT_EQ(file.access(call_for(Direction::read, back, true, kAt)).bytes, kBytes);
            EXPECT_TRUE(back == data) << "turn " << turn << ", rank " << rank;
        }
    }
}

class AtOnce : public testing::TestWithParam<std::string> {};

TEST_P(AtOnce, every_rank_finds_its_bytes) {
    for (const int ranks_per_node : {0, 2}) {
        const Folder folder;
        const OpenCall call =
            call_of(folder.file("data"), kCreate, small_rounds(GetParam(), "posix"));
        run_free_ranks({kRanks, ranks_per_node}, [&](Transport& transport) {
            const auto file = open_at_once(transport, call);
            ASSERT_NE(file, nullptr);
            write_and_read_without_a_word(*file, transport.topology().rank);
            EXPECT_EQ(kind_of(file->close()), ErrorKind::none);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(methods, AtOnce, testing::ValuesIn(method_names()),
                         [](const auto& method) { return method.param; });

TEST(AtOnceStores, every_rank_finds_its_bytes) {
    for (const char* method : {"shared_buffer", "double_buffer"})
        for (const char* store : {"thread", "uring"}) {
            const Folder folder;
            const OpenCall call =
                call_of(folder.file("data"), kCreate, small_rounds(method, store));
            run_free_ranks({kRanks}, [&](Transport& transport) {
                const auto file = open_at_once(transport, call);
                ASSERT_NE(file, nullptr);
                write_and_read_without_a_word(*file, transport.topology().rank);
                EXPECT_EQ(kind_of(file->close()), ErrorKind::none);
            });
        }
}

/// Each rank finishes its operations in a different order, so that one rank is several rounds ahead
/// of another.
TEST(AtOnceOperations, many_are_under_way) {
    constexpr int kOperations = 12;
    const Folder folder;
    const OpenCall call =
        call_of(folder.file("data"), kCreate, small_rounds("shared_buffer", "posix"));
    run_free_ranks({kRanks}, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        const auto file = open_at_once(transport, call);
        ASSERT_NE(file, nullptr);
        std::vector<Buffer> data;
        for (int i = 0; i < kOperations; ++i) data.emplace_back(3000, std::byte(rank + 3 * i + 1));
        for (const Direction direction : {Direction::write, Direction::read}) {
            std::vector<Buffer> moved = data;
            if (direction == Direction::read)
                for (Buffer& buffer : moved) buffer.assign(buffer.size(), std::byte{0});
            std::vector<OperationPtr> started;
            for (int i = 0; i < kOperations; ++i)
                started.push_back(file->start(call_for(direction, moved[std::size_t(i)], i % 3 != 0,
                                                       kAt, 3000 * (i * kRanks + rank))));
            for (int i = 0; i < kOperations; ++i) {
                const int next = (i * (rank % 2 == 0 ? 1 : 5) + rank) % kOperations;
                EXPECT_EQ(file->finish(started[std::size_t(next)]).bytes, 3000);
            }
            EXPECT_TRUE(moved == data);
        }
        EXPECT_EQ(kind_of(file->close()), ErrorKind::none);
    });
}

/// The records of the shared file pointer are gathered in memory (write-behind), or written at
/// once.
TEST(AtOncePointer, each_record_has_a_place_of_its_own) {
    constexpr int kRecords = 60;
    for (const char* gathered : {"0", "700"}) {
        const Folder folder;
        const OpenCall call =
            call_of(folder.file("data"), kCreate, {{"oratorio_shared_write_behind", gathered}});
        run_free_ranks({kRanks}, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            const auto file = open_at_once(transport, call);
            ASSERT_NE(file, nullptr);
            for (int i = 0; i < kRecords; ++i) {
                Buffer record(10, std::byte(1 + rank));
                const auto outcome = file->access(
                    call_for(Direction::write, record, i % 20 == 19, Positioning::shared));
                EXPECT_EQ(outcome.bytes, 10);
            }
            EXPECT_EQ(kind_of(file->close()), ErrorKind::none);
        });
        const std::string content = folder.read("data");
        ASSERT_EQ(content.size(), std::size_t{10} * kRecords * kRanks);
        std::array<int, kRanks> records{};
        for (std::size_t at = 0; at < content.size(); at += 10) {
            const auto rank = static_cast<std::size_t>(content[at] - 1);
            ASSERT_LT(rank, records.size());
            EXPECT_EQ(content.substr(at, 10), std::string(10, content[at]));
            ++records[rank];
        }
        for (const int count : records) EXPECT_EQ(count, kRecords);
    }
}

/// The ranks run more collectives at once than a node has boards, and rank 1 finishes them in
/// another order than it started them. They also add to a shared number, and each value must be
/// returned only once.
TEST(AtOnceNode, collectives_overlap_and_each_number_is_used_once) {
    constexpr std::size_t kMany = 30;
    std::array<std::vector<std::int64_t>, kRanks> numbers;
    run_free_ranks({kRanks}, [&](Transport& messages) {
        const auto node = NodeTransport::over(std::make_unique<Lent>(messages));
        ASSERT_TRUE(node.ok());
        Transport& transport = **node;
        const Rank rank = transport.topology().rank;
        auto& mine = numbers[static_cast<std::size_t>(rank)];
        for (std::uint64_t turn = 0; turn < 20; ++turn) {
            std::array<std::uint64_t, kMany> values{};
            std::vector<Ticket> tickets;
            for (std::size_t i = 0; i < kMany; ++i) {
                values[i] = static_cast<std::uint64_t>(rank) + i + turn;
                const auto ticket = transport.reduce(std::span(&values[i], 1), ReduceOp::sum);
                ASSERT_TRUE(ticket.ok());
                tickets.push_back(*ticket);
                mine.push_back(*transport.counter().fetch_add(1));
            }
            for (std::size_t i = 0; i < kMany; ++i) {
                const std::size_t next = i ^ static_cast<std::size_t>(rank % 2);
                ASSERT_TRUE(wait(transport, tickets[next]).ok());
                EXPECT_EQ(values[next], 3 + 3 * (next + turn));
            }
            const auto place = reserve(transport, rank + 1);
            ASSERT_TRUE(place.ok());
        }
    });
    std::vector<std::int64_t> all;
    for (const auto& some : numbers) all.insert(all.end(), some.begin(), some.end());
    std::ranges::sort(all);
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

/// Each rank reads a list that its node stores once, while other ranks begin to gather the next
/// list.
TEST(AtOnceNodes, lists_that_a_node_has_once_are_whole_while_they_are_read) {
    using Block = std::array<std::uint64_t, 8>;
    run_free_ranks({.ranks = 5, .ranks_per_node = 2}, [](Transport& messages) {
        const auto node = NodeTransport::over(
            std::make_unique<Lent>(messages),
            [&]() -> Result<std::unique_ptr<Transport>> { return LeaderRanks::of(messages); },
            agreed_from([] { return std::size_t{0}; }));
        ASSERT_TRUE(node.ok());
        const auto rank = static_cast<std::uint64_t>(messages.topology().rank);
        for (std::uint64_t turn = 0; turn < 200; ++turn) {
            auto gathering = Gathering<Block>::once_for_node({rank, turn});
            auto done = gathering.step(**node);
            for (; done && *done != Step::done; done = gathering.step(**node)) (*node)->idle();
            ASSERT_TRUE(done.ok());
            for (std::uint64_t other = 0; other < 5; ++other)
                ASSERT_EQ(gathering.all()[other], (Block{other, turn}));
        }
    });
}

}  // namespace
}  // namespace oratorio::test
