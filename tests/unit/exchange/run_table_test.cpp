#include "exchange/run_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace oratorio {
namespace {

TEST(RunTable, WhatIsWrittenIsRead) {
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
        RunTableReader reader{std::span(memory).first(writer.bytes()), origin};
        for (const StridedRun& run : runs) {
            ASSERT_FALSE(reader.at_end());
            ASSERT_EQ(reader.next(), run) << "trial " << trial;
        }
        EXPECT_TRUE(reader.at_end());
    }
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
