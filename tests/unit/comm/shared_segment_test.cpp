// SPDX-License-Identifier: BSD-3-Clause
// Memory that the ranks of a node map. The memory is private to these ranks and is prepared before
// they receive it, or it is refused on all of them.
#include "comm/shared_segment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "support/sim_transport.hpp"

namespace oratorio::test {
namespace {

constexpr Bytes kLength = 8192;

SharedSegment::Options wish_of(Rank rank) {
    SharedSegment::Options wish;
    wish.bytes = kLength;
    wish.card = {static_cast<std::uint64_t>(rank) + 100, 7};
    wish.prepare = [rank](std::span<std::byte> memory) {
        memory[0] = static_cast<std::byte>(rank + 1);
    };
    return wish;
}

/// Returns the number of shared memory objects with names of this process.
std::size_t names_in_shared_memory() {
    const std::string ours = "oratorio-" + std::to_string(getpid()) + "-";
    const std::filesystem::directory_iterator all("/dev/shm");
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](const auto& entry) {
        return entry.path().filename().string().starts_with(ours);
    }));
}

TEST(SharedSegment, ANodesRanksGetWhatItsFirstOneHasPrepared) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        run_ranks({.ranks = 5, .seed = seed, .node_of = {0, 1, 0, 1, 2}}, [](Transport& transport) {
            const Rank rank = transport.topology().rank;
            SharedSegment segment(wish_of(rank));
            ASSERT_TRUE(segment.finish(transport).ok());
            ASSERT_FALSE(segment.refused());
            const SharedMemory memory = segment.take();
            ASSERT_EQ(std::ssize(memory.span()), kLength);
            const Rank first = first_beside(transport.topology(), rank);
            EXPECT_EQ(memory.span()[0], static_cast<std::byte>(first + 1));
            std::vector<std::uint64_t> beside;
            for (const SharedSegment::Card& card : segment.cards()) beside.push_back(card[0]);
            const std::vector<std::uint64_t> nodes[] = {{100, 102}, {101, 103}, {104}};
            EXPECT_EQ(beside, nodes[transport.topology().node(rank)]);
        });
    }
}

TEST(SharedSegment, AllRanksLearnAFailedCheckAndTheMemoryStays) {
    run_ranks({.ranks = 4, .seed = 3, .ranks_per_node = 2}, [](Transport& transport) {
        const Rank rank = transport.topology().rank;
        SharedSegment::Options wish = wish_of(rank);
        wish.check = [rank](const std::vector<SharedSegment::Card>& cards) {
            EXPECT_EQ(cards.size(), 2U);
            return rank == 2 ? Error::make(ErrorKind::quota, "for a test") : Error{};
        };
        SharedSegment segment(std::move(wish));
        ASSERT_TRUE(segment.finish(transport).ok());
        EXPECT_FALSE(segment.refused());
        EXPECT_EQ(segment.check_refusal().kind, ErrorKind::quota);
        EXPECT_EQ(segment.check_refusal().rank, 2);
        EXPECT_EQ(std::ssize(segment.take().span()), kLength);
    });
    EXPECT_EQ(names_in_shared_memory(), 0U) << "a name was left";
}

TEST(SharedSegment, MoreMemoryThanAvailableIsRefusedOnAllRanks) {
    run_ranks({.ranks = 3, .seed = 5}, [](Transport& transport) {
        SharedSegment::Options wish = wish_of(transport.topology().rank);
        wish.bytes = Bytes{1} << 50;
        SharedSegment segment(std::move(wish));
        ASSERT_TRUE(segment.finish(transport).ok());
        EXPECT_TRUE(segment.refused());
        EXPECT_EQ(segment.refusal().rank, 0);
    });
}

}  // namespace
}  // namespace oratorio::test
