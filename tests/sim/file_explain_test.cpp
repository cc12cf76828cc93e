// SPDX-License-Identifier: BSD-3-Clause
// What a file tells whoever asks for explanations: its plans, and at the end what they took.
#include "sim/file_ranks.hpp"

namespace oratorio::test {
namespace {

/// 64 bytes of each rank, in rank order.
void move_mine(File& file, Rank rank, Direction direction, bool collective) {
    constexpr Bytes kBytes = 64;
    std::vector<std::byte> mine(kBytes, std::byte{'x'});
    const auto at = Positioning::explicit_offset;
    EXPECT_EQ(file.access(call_for(direction, mine, collective, at, kBytes * rank)).bytes, kBytes);
}

/// Opens `data` with explanations, which go to `said`.
OpenCall explained(const Folder& folder, std::vector<std::string>& said) {
    OpenCall call = call_of(folder.file("data"), kCreate);
    call.explain = true;
    call.narrate = [&said](const std::string& text) { said.push_back(text); };
    return call;
}

TEST(FileExplain, EachCollectiveIsToldOnceByRankZeroAndTheSumAtTheEnd) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        std::vector<std::string> said;
        const OpenCall call = explained(folder, said);
        with_file(ranks, call, [](File& file, Rank rank) {
            move_mine(file, rank, Direction::write, true);
            move_mine(file, rank, Direction::write, false);
            move_mine(file, rank, Direction::read, true);
        });
        ASSERT_EQ(said.size(), 3u) << ranks;
        const auto tells = [&](std::size_t number, const std::string& text) {
            EXPECT_NE(said[number].find(text), std::string::npos) << text << " in " << said[number];
        };
        tells(0, "data: collective write");
        tells(1, "data: collective read");
        tells(2, "data: closed; what it took, all ranks together\n");
        tells(2, "\n  accesses " + std::to_string(3 * ranks) + " accesses\n");
        tells(2, "\n  bytes_moved " + std::to_string(3 * 64 * ranks) + " bytes\n");
        for (const char* row : {"storage_calls", "access_time", "storage_time"})
            tells(2, "\n  " + std::string(row) + " ");
    }
}

TEST(FileExplain, APlanThatIsMadeAgainAndAgainIsToldOnce) {
    const Folder folder;
    std::vector<std::string> said;
    const OpenCall call = explained(folder, said);
    with_file(2, call, [](File& file, Rank rank) {
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(kind_of(file.set_hints({})), ErrorKind::none);  // no plan is kept
            move_mine(file, rank, Direction::write, true);
        }
        move_mine(file, rank, Direction::read, true);
    });
    ASSERT_EQ(said.size(), 4u);
    EXPECT_NE(said[0].find("data: collective write"), std::string::npos);
    EXPECT_EQ(said[1], "  (this plan was made 2 times more)");
    EXPECT_NE(said[2].find("data: collective read"), std::string::npos);
}

TEST(FileExplain, IndependentAccessesAreToldWhereTheyArePlanned) {
    const Folder folder;
    std::vector<std::string> said;
    const OpenCall call = explained(folder, said);
    with_file(2, call, [](File& file, Rank rank) {
        const auto view = View::make(4 * rank, 4, Shape::run(4), 8, true, "native");
        EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
        std::vector<std::byte> mine(64, std::byte{'x'});
        for (const Offset offset : {0, 16, 32}) {
            EXPECT_EQ(file.access(call_for(Direction::write, mine, false,
                                           Positioning::explicit_offset, offset))
                          .bytes,
                      64);
        }
    });
    ASSERT_EQ(said.size(), 3u) << "the plan, its number and the sum";
    EXPECT_NE(said[0].find("data: independent write: method list_io"), std::string::npos);
    EXPECT_EQ(said[1], "  (this plan was made 2 times more)");
}

TEST(FileExplain, NoSumAndNoTimesUnlessAllRanksAsk) {
    for (const int ranks : {2, 4}) {
        const Folder folder;
        std::vector<std::string> said;
        on_ranks(ranks, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            OpenCall call = call_of(folder.file("data"), kCreate);
            call.explain = rank == 0;
            call.narrate = [&](const std::string& text) { said.push_back(text); };
            auto file = open_on(transport, call);
            move_mine(**file, rank, Direction::write, true);
            EXPECT_EQ((*file)->stats().access_time, 0u);
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            return 0;
        });
        EXPECT_EQ(said.size(), 1u) << "the plan only";
    }
}

}  // namespace
}  // namespace oratorio::test
