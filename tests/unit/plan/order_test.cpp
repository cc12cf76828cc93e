// SPDX-License-Identifier: BSD-3-Clause
#include "plan/order.hpp"

#include <gtest/gtest.h>

#include "plan/methods.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test::order_test {
namespace {

constexpr Bytes kBlock = 64 << 10;

/// Returns a plan of 16 blocks that belong to two aggregators in turn, one block per round.
Plan plan_of_blocks(Bytes cb_buffer_size = 16 << 20) {
    FlatTerms options;
    options.method = find_method("disk_directed");
    options.striping_unit = kBlock;
    options.cb_nodes = 2;
    options.cb_buffer_size = cb_buffer_size;
    return plan_of(interleaved(4, 1024, 256), options);
}

/// Returns the disk extent of block `number`, which lies at `device` on the device.
DiskExtent place(std::int64_t number, Offset device) {
    return {{number * kBlock, (number + 1) * kBlock}, device};
}

std::vector<std::int64_t> parts_of(const RoundOrder& order, int aggregator, std::int64_t rounds) {
    std::vector<std::int64_t> parts;
    for (std::int64_t round = 0; round < rounds; ++round)
        parts.push_back(order.part(aggregator, round));
    return parts;
}

TEST(Order, IsAscendingByDefault) {
    const RoundOrder order;
    EXPECT_TRUE(order.ascending());
    EXPECT_TRUE(order.parts().empty());
    EXPECT_EQ(order.part(3, 17), 17);
}

TEST(Order, ADiskDirectedRoundIsABlockInOneOfTwoBuffers) {
    const Plan plan = plan_of_blocks();
    EXPECT_EQ(plan.slots, 2);
    EXPECT_EQ(plan.slot_bytes, kBlock);
    EXPECT_EQ(plan.rounds, 8);
    EXPECT_EQ(plan.aggregators.size(), 2U);
    EXPECT_EQ(plan.region(1, 3).extent(0), (Extent{7 * kBlock, 8 * kBlock}));
    EXPECT_TRUE(plan.asks_places());
    EXPECT_TRUE(plan.order.ascending()) << "no location has been queried yet";
}

TEST(Order, EachAggregatorSortsItsBlocksByLocation) {
    const Plan plan = plan_of_blocks();
    std::vector<DiskExtent> places;
    // The blocks lie in reverse order on the device, except that block 5 comes first.
    for (std::int64_t block = 0; block < 16; ++block)
        places.push_back(place(block, block == 5 ? 0 : (100 - block) * kBlock));
    const RoundOrder order = by_place(plan, places);
    EXPECT_EQ(parts_of(order, 0, 8), (std::vector<std::int64_t>{7, 6, 5, 4, 3, 2, 1, 0}));
    EXPECT_EQ(parts_of(order, 1, 8), (std::vector<std::int64_t>{2, 7, 6, 5, 4, 3, 1, 0}));
}

TEST(Order, BlocksWithoutAPlaceComeLastAsInTheFile) {
    const Plan plan = plan_of_blocks();
    // Only the end of block 4 has a known place.
    const DiskExtent end_of_4{{5 * kBlock - 100, 5 * kBlock}, 7};
    const RoundOrder order = by_place(plan, std::vector{end_of_4, place(12, 4096)});
    EXPECT_EQ(parts_of(order, 0, 8), (std::vector<std::int64_t>{2, 6, 0, 1, 3, 4, 5, 7}));
    EXPECT_EQ(parts_of(order, 1, 8), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_TRUE(by_place(plan, {}).ascending());
}

TEST(Order, AnExtentThatBeginsBeforeABlockTellsThePlaceOfTheBlock) {
    const Plan plan = plan_of_blocks();
    // On the device, blocks 0 to 9 lie together after blocks 10 to 15.
    const std::vector<DiskExtent> places{{{0, 10 * kBlock}, 50 * kBlock},
                                         {{10 * kBlock, 16 * kBlock}, 10 * kBlock}};
    const RoundOrder order = by_place(plan, places);
    EXPECT_EQ(parts_of(order, 0, 8), (std::vector<std::int64_t>{5, 6, 7, 0, 1, 2, 3, 4}));
}

TEST(Order, ABlockLargerThanABufferIsTakenInParts) {
    const Plan plan = plan_of_blocks(64 << 10);
    EXPECT_EQ(plan.slot_bytes, kBlock / 2);
    EXPECT_EQ(plan.rounds, 16);
    const RoundOrder order = by_place(plan, std::vector{place(2, 0)});
    EXPECT_EQ(order.part(0, 0), 2);
    EXPECT_EQ(order.part(0, 1), 3);
    EXPECT_EQ(order.part(0, 2), 0);
}

TEST(Order, OrdersALimitedNumberOfRounds) {
    FlatTerms options;
    options.method = find_method("disk_directed");
    options.striping_unit = 4096;
    options.cb_nodes = 1;
    const std::int64_t most = kOrderedRoundsMost;
    EXPECT_TRUE(plan_of(interleaved(4, 1024, most), options).asks_places());
    EXPECT_FALSE(plan_of(interleaved(4, 1024, most + 1), options).asks_places());
    EXPECT_FALSE(plan_of(interleaved(4, 1024, 1), options).asks_places()) << "one round";
}

TEST(Order, ExplainTellsTheOrder) {
    Plan plan = plan_of_blocks();
    EXPECT_NE(explain(plan).find(
                  "  order        file order, because locations on the device are unknown\n"),
              std::string::npos)
        << explain(plan);
    plan.order = by_place(plan, std::vector{place(2, 0)});
    EXPECT_NE(explain(plan).find("  order        by location on the device\n"), std::string::npos);
}

}  // namespace
}  // namespace oratorio::test::order_test
