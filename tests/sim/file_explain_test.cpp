// SPDX-License-Identifier: BSD-3-Clause
// The text that a file with explanations enabled reports: how each access was done and how fast,
// and, at close, the totals of all accesses.
#include <nlohmann/json.hpp>

#include "plan/methods.hpp"
#include "sim/file_ranks.hpp"

namespace oratorio::test::file_explain_test {
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
OpenCall explained(const Folder& folder, std::vector<std::string>& said, bool all = false) {
    OpenCall call = call_of(folder.file("data"), kCreate);
    call.explain = true;
    call.explain_all = all;
    call.narrate = [&said](const std::string& text) { said.push_back(text); };
    return call;
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::ptrdiff_t lines_of(const std::string& text) {
    return std::ranges::count(text, '\n');
}

void write_and_read(File& file, Rank rank) {
    move_mine(file, rank, Direction::write, true);
    move_mine(file, rank, Direction::write, false);
    move_mine(file, rank, Direction::read, true);
}

TEST(FileExplain, RankZeroExplainsEachAccessOnceWithItsRateAndTheTotals) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        std::vector<std::string> said;
        with_file(ranks, explained(folder, said), write_and_read);
        ASSERT_EQ(said.size(), 4u) << ranks;
        const std::string all = std::to_string(64 * ranks) + " bytes of " + std::to_string(ranks) +
                                (ranks == 1 ? " rank in " : " ranks in ");
        const auto tells = [&](std::size_t number, const std::string& text) {
            EXPECT_TRUE(says(said[number], text)) << text << " in " << said[number];
        };
        tells(0, "data: collective write 1: " + all);
        tells(1, "data: independent write 2: 64 bytes of rank 0 in ");
        tells(1, "  method       none: one piece of the file in one call");
        tells(2, "data: collective read 3: ");
        for (const std::size_t access : {0u, 1u, 2u}) {
            tells(access, " MiB/s)\n");
            EXPECT_LE(lines_of(said[access]), 15);
        }
        tells(3, "data: closed; totals of all ranks\n");
        tells(3, "\n  accesses     " + std::to_string(3 * ranks) + " accesses of ");
        for (const char* row : {"speed", "time", "storage"})
            tells(3, "\n  " + std::string(row) + " ");
        EXPECT_LE(lines_of(said[3]), 15);
        // A single rank moves so little data without a plan.
        EXPECT_EQ(says(said[3], "\n  estimated "), ranks > 1);
    }
}

TEST(FileExplain, PrintsThePlanBeforeTheAccessAndAllCountersIfAskedForAll) {
    for (const int ranks : {1, 4}) {
        const Folder folder;
        std::vector<std::string> said;
        with_file(ranks, explained(folder, said, true), write_and_read);
        ASSERT_EQ(said.size(), 7u) << ranks;
        EXPECT_TRUE(says(said[0], "data: collective write")) << said[0];
        EXPECT_TRUE(says(said[0], "\n  number       1 of this file\n")) << said[0];
        for (const Method& method : methods())
            EXPECT_EQ(says(said[0], "    " + std::string(method.name) + " "), ranks > 1);
        EXPECT_TRUE(says(said[1], "data: collective write 1: ")) << said[1];
        EXPECT_TRUE(says(said[1], " MiB/s)\n")) << said[1];
        EXPECT_TRUE(says(said[2], "data: independent write: one piece of the file in one call"));
        EXPECT_TRUE(says(said[3], "data: independent write 2: "));
        const std::string& sum = said[6];
        EXPECT_TRUE(says(sum, "data: closed; totals of all ranks\n"));
        EXPECT_TRUE(says(sum, "\n  accesses " + std::to_string(3 * ranks) + " accesses\n"));
        EXPECT_TRUE(says(sum, "\n  bytes_moved " + std::to_string(3 * 64 * ranks) + " bytes\n"));
        for (const char* row : {"storage_calls", "access_time", "storage_time"})
            EXPECT_TRUE(says(sum, "\n  " + std::string(row) + " ")) << row << " in " << sum;
        EXPECT_EQ(says(sum, "\n  wait_time "), ranks > 1);
        EXPECT_EQ(says(sum, "\n  estimated_time "), ranks > 1);
    }
}

TEST(FileExplain, EveryMethodIsExplainedInFewLines) {
    for (const Method& method : methods()) {
        const Folder folder;
        std::vector<std::string> said;
        OpenCall call = explained(folder, said);
        call.info = {{"oratorio_method", std::string(method.name)}};
        with_file(4, call, [](File& file, Rank rank) {
            const auto view = View::make(8 * rank, 1, Shape::run(8), 32, true, "native");
            EXPECT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
            std::vector<std::byte> mine(4096, std::byte{'x'});
            const AccessCall write =
                call_for(Direction::write, mine, true, Positioning::explicit_offset, 0);
            EXPECT_EQ(file.access(write).bytes, 4096);
        });
        const auto told = std::ranges::find_if(
            said, [](const std::string& text) { return says(text, ": collective write 1: "); });
        ASSERT_NE(told, said.end()) << method.name;
        EXPECT_LE(lines_of(*told), 15) << *told;
        EXPECT_TRUE(says(*told, ": collective write 1: 16 KiB of 4 ranks in ")) << *told;
        EXPECT_TRUE(says(*told, " MiB/s)\n")) << *told;
        EXPECT_TRUE(says(*told, "\n  faster       ")) << *told;
        const bool applies = says(*told, "\n  method       " + std::string(method.name) + ": ");
        const bool shipped = method.storage_part().shipped;
        EXPECT_TRUE(applies || shipped || says(*told, "the requested method does not apply"))
            << *told;
    }
}

TEST(FileExplain, JsonLinesHaveTheTimeOfEachAccessAndAllCounters) {
    const Folder folder;
    std::vector<std::string> said;
    std::vector<nlohmann::json> lines;
    OpenCall call = explained(folder, said);
    call.record = [&lines](const std::string& line) {
        lines.push_back(nlohmann::json::parse(line));
    };
    with_file(2, call, [](File& file, Rank rank) {
        for (int i = 0; i < 3; ++i) move_mine(file, rank, Direction::write, true);
    });
    EXPECT_TRUE(said.empty());
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0]["kind"], "access");
    EXPECT_EQ(lines[0]["bytes"], 128);
    EXPECT_EQ(lines[0]["ranks"], 2);
    const double seconds = lines[0]["took_seconds"];
    EXPECT_GT(seconds, 0);
    EXPECT_NEAR(lines[0]["mib_per_second"].get<double>() * seconds, 128.0 / (1 << 20), 1e-9);
    EXPECT_FALSE(lines[0]["advice"].get<std::string>().empty());
    EXPECT_EQ(lines[1]["kind"], "repeated");
    EXPECT_EQ(lines[1]["times"], 2);
    EXPECT_EQ(lines[1]["bytes"], 256);
    EXPECT_EQ(lines[2]["kind"], "account");
    EXPECT_EQ(lines[2]["counters"]["bytes_moved"], 3 * 128);
}

TEST(FileExplain, AReadBehindTheEndOfTheFileHasNoRate) {
    const Folder folder;
    std::vector<std::string> said;
    with_file(1, explained(folder, said), [](File& file, Rank) {
        std::vector<std::byte> mine(64);
        EXPECT_EQ(
            file.access(call_for(Direction::read, mine, false, Positioning::explicit_offset, 0))
                .bytes,
            0);
    });
    ASSERT_GE(said.size(), 1u);
    EXPECT_TRUE(says(said[0], "; the file ended before all data was read\n")) << said[0];
    EXPECT_FALSE(says(said[0], "MiB/s")) << said[0];
}

TEST(FileExplain, ANonblockingAccessHasALowerBoundOfItsRate) {
    const Folder folder;
    std::vector<std::string> said;
    with_file(2, explained(folder, said), [](File& file, Rank rank) {
        std::vector<std::byte> mine(64, std::byte{'x'});
        const auto operation = file.start(
            call_for(Direction::write, mine, true, Positioning::explicit_offset, 64 * rank));
        EXPECT_EQ(file.finish(operation).bytes, 64);
    });
    ASSERT_GE(said.size(), 1u);
    EXPECT_TRUE(says(said[0], " while the program ran on (at least ")) << said[0];
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
    EXPECT_TRUE(says(said[0], "data: collective write 1: ")) << said[0];
    EXPECT_TRUE(says(said[1], "data: collective read 2: ")) << said[1];
    EXPECT_TRUE(says(said[2], "data: access 1 was repeated 2 times, 256 bytes in ")) << said[2];
    EXPECT_TRUE(says(said[3], "data: access 2 was repeated 2 times, 256 bytes in ")) << said[3];
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
    EXPECT_TRUE(says(said[1], "data: access 1 was repeated 3 times, 384 bytes in ")) << said[1];
}

TEST(FileExplain, ManySmallCallsGetAdvice) {
    const Folder folder;
    std::vector<std::string> said;
    with_file(1, explained(folder, said), [](File& file, Rank) {
        for (int i = 0; i < 40; ++i) move_mine(file, 0, Direction::write, false);
    });
    ASSERT_EQ(said.size(), 3u);
    EXPECT_TRUE(says(said[1], "access 1 was repeated 39 times")) << said[1];
    EXPECT_TRUE(says(said[1], "faster       fewer and larger calls: each moved 64 bytes"));
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
    EXPECT_NE(said[0].find("\n  conversion   the file's data is in external32\n"),
              std::string::npos);
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
    EXPECT_TRUE(says(said[0], "data: independent write 1: 64 bytes of rank 0 in ")) << said[0];
    EXPECT_TRUE(says(said[0], "\n  method       list_io: ")) << said[0];
    EXPECT_TRUE(says(said[1], "data: access 1 was repeated 2 times")) << said[1];
}

TEST(FileExplain, TheSummaryMayGoElsewhereThanWarnings) {
    const Folder folder;
    std::vector<std::string> said, summed;
    OpenCall call = call_of(folder.file("data"), kCreate);
    call.info = {{"cb_nodes", "many"}};
    call.summary = true;
    call.narrate = [&said](const std::string& text) { said.push_back(text); };
    call.summarize = [&summed](const std::string& text) { summed.push_back(text); };
    with_file(2, call, write_and_read);
    ASSERT_EQ(summed.size(), 1u);
    EXPECT_TRUE(says(summed[0], "data: closed; totals of all ranks\n")) << summed[0];
    ASSERT_EQ(said.size(), 1u);
    EXPECT_TRUE(says(said[0], "cb_nodes")) << said[0];
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
        EXPECT_EQ(said.size(), 1u) << "the access only";
    }
}

}  // namespace
}  // namespace oratorio::test::file_explain_test
