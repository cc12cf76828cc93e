// SPDX-License-Identifier: BSD-3-Clause
#include "type/run_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace oratorio {
namespace {

TEST(RunTable, ReadsWhatItWrote) {
    std::mt19937_64 random(3);
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<std::byte> memory(64 * RunTableWriter::run_bytes_max);
        const Offset origin = static_cast<Offset>(random() % (std::uint64_t{1} << 45));
        RunTableWriter writer(memory, origin);
        std::vector<StridedRun> runs;
        Offset at = origin;
        for (int i = 0; i < 64 && writer.has_room(); ++i) {
            StridedRun run;
            run.offset = at + static_cast<Offset>(random() >> (20 + random() % 44));
            run.length = 1 + static_cast<Bytes>(random() >> (24 + random() % 40));
            run.count = random() % 2 == 0 ? 1 : 2 + static_cast<std::int64_t>(random() % 1000);
            run.stride = run.count == 1 ? 0 : run.length + static_cast<Bytes>(random() % 100000);
            at = run.end();
            writer.add(run);
            runs.push_back(run);
        }
        RunTableReader reader{std::span(memory).first(writer.bytes()), {origin, at}};
        for (const StridedRun& run : runs) {
            ASSERT_FALSE(reader.at_end());
            ASSERT_EQ(reader.next(), run) << "trial " << trial;
        }
        EXPECT_TRUE(reader.at_end());
    }
}

/// Returns the first run of a table that consists of these bytes, for a region of 1000 bytes from
/// offset 5000 on.
StridedRun first_of(std::vector<int> bytes) {
    std::vector<std::byte> table;
    for (const int byte : bytes) table.push_back(static_cast<std::byte>(byte));
    return RunTableReader(table, {5000, 6000}).next();
}

TEST(RunTable, RejectsRunsOutsideOfTheTable) {
    EXPECT_EQ(first_of({3, 8}), (StridedRun{5003, 4, 0, 1}));
    EXPECT_EQ(first_of({0, 9, 4, 125}), (StridedRun{5000, 4, 8, 125}));
    const StridedRun none;
    EXPECT_EQ(first_of({0, 0}), none) << "no bytes";
    EXPECT_EQ(first_of({0, 9, 4, 126}), none) << "the last piece ends after the region";
    EXPECT_EQ(first_of({0xff, 7, 2}), none) << "begins after it";
    std::vector<int> back(9, 0xff);
    back.insert(back.end(), {1, 2});
    EXPECT_EQ(first_of(back), none) << "begins before it";
    const std::vector<int> huge{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    std::vector<int> table{0, 3};
    table.insert(table.end(), huge.begin(), huge.end());
    table.insert(table.end(), huge.begin(), huge.end());
    EXPECT_EQ(first_of(table), none) << "count times stride leaves 64 bits";
    EXPECT_EQ(first_of({0x80, 0x80}), none) << "ends inside of a number";
    EXPECT_EQ(first_of(std::vector<int>(100, 0x80)), none) << "a number that doesn't end";
}

TEST(RunTable, ASmallPieceNearTheLastCostsTwoBytes) {
    std::vector<std::byte> memory(200);
    RunTableWriter writer(memory, 1000);
    writer.add({1004, 4, 0, 1});
    writer.add({1020, 8, 0, 1});
    EXPECT_EQ(writer.bytes(), 4U);
}

}  // namespace
}  // namespace oratorio
