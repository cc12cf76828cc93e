// SPDX-License-Identifier: BSD-3-Clause
// Ordered writes by ranks that share memory. Small data is passed along with the reservation of its
// place in the file, and one rank writes it. All other data is written as in any collective write.
// The file must be the same either way.
#include <sys/resource.h>

#include <csignal>
#include <numeric>

#include "sim/file_ranks.hpp"

namespace oratorio::test::ordered_test {
namespace {

using Lengths = std::vector<std::size_t>;

constexpr std::size_t kLong = 5000;  // more bytes than can be passed along with a reservation

AccessCall ordered(Direction direction, std::vector<std::byte>& buffer) {
    return call_for(direction, buffer, true, Positioning::shared);
}

std::vector<std::byte> record_of(Rank rank, std::size_t bytes) {
    return std::vector<std::byte>(bytes, std::byte('a' + rank));
}

/// Makes one ordered write of all ranks. Returns the number of storage calls of all ranks together.
std::uint64_t write_once(const Folder& folder, const Lengths& lengths, const HintMap& hints = {}) {
    std::atomic<std::uint64_t> calls{0};
    with_file_on_node(static_cast<int>(lengths.size()),
                      call_of(folder.file("data"), kCreate, hints), [&](File& file, Rank rank) {
                          auto mine = record_of(rank, lengths[static_cast<std::size_t>(rank)]);
                          const auto before = file.stats().storage_calls;
                          const Outcome outcome = file.access(ordered(Direction::write, mine));
                          EXPECT_EQ(outcome.error.kind, ErrorKind::none);
                          EXPECT_EQ(outcome.bytes, static_cast<Bytes>(mine.size()));
                          EXPECT_EQ(*file.position_shared(),
                                    std::reduce(lengths.begin(), lengths.end()));
                          calls += file.stats().storage_calls - before;
                      });
    std::string expected;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank)
        expected += std::string(lengths[rank], static_cast<char>('a' + rank));
    EXPECT_EQ(folder.read("data"), expected);
    return calls;
}

TEST(OrderedWrite, SmallDataOfAllRanksTakesOneSystemCall) {
    EXPECT_EQ(write_once(Folder(), {100, 100, 100, 100, 100, 100, 100, 100}), 1U);
    EXPECT_EQ(write_once(Folder(), {0, 7, 0, 100}), 1U);
    EXPECT_EQ(write_once(Folder(), {0, 0, 0}), 0U);
}

TEST(OrderedWrite, LongDataOfOneRankSendsAllTheirUsualWay) {
    EXPECT_GE(write_once(Folder(), {10, kLong, 10}), 1U);
    EXPECT_EQ(write_once(Folder(), {10, 20, 30}, {{"oratorio_method", "list_io"}}), 3U)
        << "a method requested by a hint is used";
}

TEST(OrderedWrite, AtomicModeAndDataInPiecesGoTheirUsualWay) {
    for (const bool atomic : {true, false}) {
        const Folder folder;
        with_file_on_node(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
            EXPECT_EQ(kind_of(file.set_atomicity(atomic)), ErrorKind::none);
            std::vector<std::byte> spaced(20, std::byte('.'));
            for (std::size_t at = 0; at < 20; at += 4) spaced[at] = std::byte('a' + rank);
            auto call = ordered(Direction::write, spaced);
            // The data of rank 1 is every fourth byte of its memory.
            if (rank == 1) call.memory = Layout{Shape::run(1), 4, 0, 5};
            if (rank != 1) call.memory = Layout{Shape::run(5), 5, 0, 1};
            EXPECT_EQ(file.access(call).bytes, 5);
        });
        EXPECT_EQ(folder.read("data"), "a...abbbbbc...c");
    }
}

TEST(OrderedWrite, RecordsFollowOneAnotherThroughAView) {
    const Folder folder;
    with_file_on_node(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        // The view is two of every four bytes, from byte 3.
        const auto view = View::make(3, 1, Shape::run(2), 4, true, "native");
        EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
        auto mine = record_of(rank, 2);
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(file.access(ordered(Direction::write, mine)).bytes, 2);
        EXPECT_EQ(kind_of(file.set_view(View::make(1, 1, Shape::run(1), 1, true, "native"), {})),
                  ErrorKind::none);
        EXPECT_EQ(file.access(ordered(Direction::write, mine)).bytes, 2);
    });
    std::string content = folder.read("data");
    std::ranges::replace(content, '\0', '.');
    EXPECT_EQ(content, ".aabbccbb..cc..aa..bb..cc");
}

TEST(OrderedWrite, AllRanksLearnOfARejectedRankAndItWritesNothing) {
    const Folder folder;
    with_file_on_node(3, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        auto mine = record_of(rank, 4);
        auto call = ordered(Direction::write, mine);
        if (rank == 1) call.refused = Error::make(ErrorKind::type, "a bad datatype");
        const Outcome outcome = file.access(call);
        EXPECT_EQ(outcome.error.kind, ErrorKind::type);
        EXPECT_EQ(file.access(ordered(Direction::write, mine)).bytes, 4);
    });
    EXPECT_EQ(folder.read("data").size(), 8U + 12U);
}

TEST(OrderedWrite, AllRanksLearnOfAFailureAndTheBytesWrittenForEach) {
    const Folder folder;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    std::array<Outcome, 4> outcomes;
    with_file_on_node(4, call_of(folder.file("data"), kCreate), [&](File& file, Rank rank) {
        auto mine = record_of(rank, 100);
        std::uint64_t here = 0;
        const rlimit small{250, before.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        outcomes[static_cast<std::size_t>(rank)] = file.access(ordered(Direction::write, mine));
        EXPECT_TRUE(reduce(file.transport(), std::span(&here, 1), ReduceOp::sum).ok());
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
        EXPECT_TRUE(reduce(file.transport(), std::span(&here, 1), ReduceOp::sum).ok());
        EXPECT_EQ(file.access(ordered(Direction::write, mine)).error.kind, ErrorKind::none)
            << "the file can be used again";
    });
    std::signal(SIGXFSZ, handler);
    constexpr std::array<Bytes, 4> kArrived{100, 100, 50, 0};
    for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(outcomes[rank].bytes, kArrived[rank]);
        EXPECT_EQ(outcomes[rank].error.kind, ErrorKind::io);
        EXPECT_EQ(outcomes[rank].error.system_errno, EFBIG);
    }
    EXPECT_EQ(folder.read("data").substr(400), std::string(100, 'a') + std::string(100, 'b') +
                                                   std::string(100, 'c') + std::string(100, 'd'));
}

}  // namespace
}  // namespace oratorio::test::ordered_test
