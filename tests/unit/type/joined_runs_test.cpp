// SPDX-License-Identifier: BSD-3-Clause
// JoinedRuns: one pass over random runs finds what several simple passes find, even if it
// overwrites its input.
#include "type/joined_runs.hpp"

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace oratorio::test::joined_runs_test {
namespace {

/// Returns the runs that are not empty. Each run that continues the one before it is joined to that
/// one.
std::vector<Extent> join(const std::vector<Extent>& runs) {
    std::vector<Extent> joined;
    for (const Extent run : runs) {
        if (run.empty()) continue;
        if (!joined.empty() && joined.back().end == run.begin)
            joined.back().end = run.end;
        else
            joined.push_back(run);
    }
    return joined;
}

void check(const JoinedRuns& found, const std::vector<Extent>& expected) {
    ASSERT_EQ(found.count(), expected.size());
    ASSERT_EQ(found.prefix.size(), expected.size() + 1);
    Bytes before = 0;
    bool monotonic = true;
    bool overlapping = false;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(found.run(i), expected[i]);
        EXPECT_EQ(found.prefix[i], before);
        before += expected[i].length();
        if (i == 0) continue;
        const Extent last = expected[i - 1];
        monotonic = monotonic && expected[i].begin >= last.begin && expected[i].end >= last.end;
        overlapping = overlapping || expected[i].begin < last.end;
    }
    EXPECT_EQ(found.prefix[expected.size()], before);
    EXPECT_EQ(found.order.monotonic(), monotonic);
    EXPECT_EQ(found.order.overlapping(), monotonic && overlapping);
}

TEST(JoinedRuns, RandomRunsAreJoinedAndJudged) {
    Random random(3);
    const auto memory = std::make_shared<BlockCache>();
    int monotonic = 0;
    int overlapping = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<Extent> runs(random.below(8));
        Offset at = static_cast<Offset>(random.below(5)) - 2;
        const int back = static_cast<int>(random.below(3));
        for (Extent& run : runs) {
            run.begin = at + static_cast<Offset>(random.below(4)) - back;
            run.end = run.begin + static_cast<Bytes>(random.below(4));
            at = run.end;
        }
        const auto count = std::ssize(runs);
        const auto run_of = [&](std::int64_t i) { return runs[static_cast<std::size_t>(i)]; };
        const auto found = JoinedRuns::of(count, run_of, List<Offset>(runs.size()), memory);
        check(found, join(runs));
        monotonic += found.order.monotonic() ? 1 : 0;
        overlapping += found.order.overlapping() ? 1 : 0;

        List<Offset> offsets(runs.size());
        for (std::size_t i = 0; i < runs.size(); ++i) offsets[i] = runs[i].begin;
        const Offset* const begin = offsets.data();
        const auto written_over = [&, begin](std::int64_t i) {
            return Extent{begin[i], begin[i] + run_of(i).length()};
        };
        check(JoinedRuns::of(count, written_over, std::move(offsets), nullptr), join(runs));
    }
    EXPECT_GT(monotonic, 500);
    EXPECT_GT(3000 - monotonic, 100);
    EXPECT_GT(overlapping, 100);
}

TEST(JoinedRuns, FewRunsOfManyGiveTheirMemoryBack) {
    const auto memory = std::make_shared<BlockCache>();
    constexpr std::int64_t kCount = 100'000;
    const auto run_of = [](std::int64_t i) { return Extent{8 * i, 8 * i + 8}; };
    const auto joined = JoinedRuns::of(kCount, run_of, List<Offset>(kCount, memory), memory);
    EXPECT_EQ(joined.count(), 1U);
    EXPECT_EQ(memory->idle_bytes(), 16U * kCount + 8) << "both lists are free again";
}

}  // namespace
}  // namespace oratorio::test::joined_runs_test
