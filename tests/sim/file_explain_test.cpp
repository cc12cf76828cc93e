// SPDX-License-Identifier: BSD-3-Clause
// The text that a file with explanations enabled reports: its plans, and at its end the time that
// they took.
#include "sim/file_ranks.hpp"

namespace oratorio::test {
namespace {

/// Moves 64 bytes of each rank; the ranks' data is in rank order in the file.
void move_mine(File& file, Rank rank, Direction direction, bool collective) {
    constexpr Bytes kBytes = 64;
    std::vector<std::byte> mine(kBytes, std::byte{'x'});
    const auto at = Positioning::explicit_offset;
    EXPECT_EQ(file.access(call_for(direction, mine, collective, at, kBytes * rank)).bytes, kBytes);
}

/// Returns the call that opens `data` with explanations enabled. The explanations are appended to
/// `said`.
OpenCall explained(const Folder& folder, std::vector<std::string>& said) {
    OpenCall call = call_of(folder.file("data"), kCreate);
    call.explain = true;
    call.narrate = [&said](const std::string& text) { said.push_back(text); };
    return call;
}

TEST(FileExplain, RankZeroExplainsEachCollectiveOnceAndTheTotals) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        std::vector<std::string> said;
        const OpenCall call = explained(folder, said);
        with_file(ranks, call, [](File& file, Rank rank) {
            move_mine(file, rank, Direction::write, true);
            move_mine(file, rank, Direction::write, false);
            move_mine(file, rank, Direction::read, true);
        });
        ASSERT_EQ(said.size(), 4u) << ranks;
        const auto tells = [&](std::size_t number, const std::string& text) {
            EXPECT_NE(said[number].find(text), std::string::npos) << text << " in " << said[number];
        };
        tells(0, "data: collective write");
        tells(1, "data: independent write: one piece of the file in one call; no plan is needed");
        tells(2, "data: collective read");
        tells(3, "data: closed; totals of all ranks\n");
        tells(3, "\n  accesses " + std::to_string(3 * ranks) + " accesses\n");
        tells(3, "\n  bytes_moved " + std::to_string(3 * 64 * ranks) + " bytes\n");
        for (const char* row : {"storage_calls", "access_time", "storage_time"})
            tells(3, "\n  " + std::string(row) + " ");
        EXPECT_EQ(said[3].find("\n  wait_time ") != std::string::npos, ranks > 1);
        // A single rank moves so little data without a plan.
        EXPECT_EQ(said[3].find("\n  estimated_time ") != std::string::npos, ranks > 1);
    }
}

TEST(FileExplain, ExplainsARepeatedPlanOnceAndCountsItAtClose) {
    const Folder folder;
    std::vector<std::string> said;
    const OpenCall call = explained(folder, said);
    with_file(2, call, [](File& file, Rank rank) {
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(kind_of(file.set_hints({})), ErrorKind::none);  // drops the cached plan
            move_mine(file, rank, Direction::write, true);
            move_mine(file, rank, Direction::read, true);
        }
    });
    ASSERT_EQ(said.size(), 5u);
    EXPECT_NE(said[0].find("data: collective write"), std::string::npos);
    EXPECT_NE(said[0].find("\n  number       1 of this file\n"), std::string::npos);
    EXPECT_NE(said[1].find("data: collective read"), std::string::npos);
    EXPECT_TRUE(said[2].ends_with("data: number 1 was repeated 2 times")) << said[2];
    EXPECT_TRUE(said[3].ends_with("data: number 2 was repeated 2 times")) << said[3];
}

TEST(FileExplain, AccessesByAKeptPlanAreCounted) {
    const Folder folder;
    std::vector<std::string> said;
    const OpenCall call = explained(folder, said);
    with_file(2, call, [](File& file, Rank rank) {
        for (int i = 0; i < 4; ++i) move_mine(file, rank, Direction::write, true);
        EXPECT_LT(file.stats().plans, 4u);
    });
    ASSERT_EQ(said.size(), 3u);
    EXPECT_TRUE(said[1].ends_with("data: number 1 was repeated 3 times")) << said[1];
}

TEST(FileExplain, ExplainsHintsWithTheirOrigin) {
    const Folder folder;
    std::vector<std::string> said;
    OpenCall call = explained(folder, said);
    call.info = {{"cb_nodes", "1"}, {"my_own", "x"}};
    call.sources.oratorio_hints = "cb_nodes=2;cb_buffer_size=65536";
    with_file(2, call, [](File&, Rank) {});
    ASSERT_GE(said.size(), 1u);
    EXPECT_NE(said[0].find("data: hints\n"), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("\n  cb_nodes = 1, from the program's info; "), std::string::npos);
    EXPECT_NE(said[0].find("\n  cb_buffer_size = 65536, from ORATORIO_HINTS; "), std::string::npos);
    EXPECT_NE(said[0].find("\n  my_own = x, from the program's info; unknown, ignored\n"),
              std::string::npos);
}

TEST(FileExplain, AConversionIsNamed) {
    const Folder folder;
    std::vector<std::string> said;
    const OpenCall call = explained(folder, said);
    with_file(2, call, [](File& file, Rank rank) {
        const auto view = View::make(0, 1, Shape::run(1), 1, true, "external32");
        EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
        move_mine(file, rank, Direction::write, true);
    });
    ASSERT_GE(said.size(), 1u);
    EXPECT_NE(said[0].find("\n  conversion   the file has external32\n"), std::string::npos);
}

TEST(FileExplain, ExplainsIndependentAccessesOnTheirRank) {
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
    EXPECT_TRUE(said[1].ends_with("data: number 1 was repeated 2 times")) << said[1];
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
