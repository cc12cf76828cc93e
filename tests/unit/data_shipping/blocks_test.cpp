// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/blocks.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/random.hpp"

namespace oratorio::test::blocks_test {
namespace {

/// For each data byte in the order of the walk, its place in the data and in the file.
using Bytewise = std::vector<std::pair<Bytes, Offset>>;

Bytewise walk(BoundRuns runs, Bytes at_most) {
    Bytewise all;
    for (BoundRun next = runs.next(at_most); next.run.count > 0; next = runs.next(at_most)) {
        EXPECT_LE(next.run.bytes(), at_most);
        for (Bytes i = 0; i < next.run.bytes(); ++i)
            all.emplace_back(
                next.first + i,
                next.run.offset + i / next.run.length * next.run.stride + i % next.run.length);
    }
    return all;
}

Bytewise expected(const Layout& layout, BoundRuns::Range range, const Binding& binding, int agent) {
    Bytewise all;
    for (Bytes at = range.from; at < range.to; ++at) {
        const Offset offset = offset_of_size(layout, at);
        if (offset / binding.block % binding.agents == agent) all.emplace_back(at, offset);
    }
    return all;
}

std::vector<Layout> layouts() {
    const ShapePtr rows = Shape::strided(Shape::run(7), 9, 31);
    return {
        {Shape::run(1), 1, 0, 700},
        {rows, 300, 12, Layout::unbounded},
        {Shape::strided(rows, 4, 290), 1200, 5, Layout::unbounded},
        {Shape::runs({0, 10, 13, 50}, {3, 1, 30, 40}), 90, 1000, Layout::unbounded},
        {Shape::run(5), 100000, 3, Layout::unbounded},                     // pieces far apart
        {Shape::strided(Shape::run(4), 20, 40), 4, 0, Layout::unbounded},  // tiles interleave
        {Shape::runs({0, 5, 6}, {10, 10, 20}), 26, 0, Layout::unbounded},  // pieces overlap
        {Shape::strided(Shape::run(8), 3, 0), 100, 7, Layout::unbounded},  // each piece occurs
                                                                           // three times
    };
}

TEST(BoundRuns, EveryDataByteIsWalkedByTheAgentThatHasItsBlockAndNoOther) {
    Random random(7);
    for (const Layout& layout : layouts()) {
        for (int trial = 0; trial < 60; ++trial) {
            const Binding binding{random.between(1, 400), static_cast<int>(random.between(1, 5))};
            const Bytes from = random.between(0, 300);
            const BoundRuns::Range range{from, from + random.between(0, 400)};
            for (int agent = 0; agent < binding.agents; ++agent)
                ASSERT_EQ(walk(BoundRuns(layout, range, binding, agent), random.between(1, 200)),
                          expected(layout, range, binding, agent))
                    << layout.shape->describe() << " block " << binding.block << " agent " << agent;
        }
    }
}

/// If it did not skip the other agents' blocks, an agent would count through all blocks of a sparse
/// file.
TEST(BoundRuns, SkipsDataOfOtherRanks) {
    const Layout thin{Shape::run(1), Bytes{1} << 40, 0, Layout::unbounded};
    const Binding binding{1, 3};
    EXPECT_EQ(walk(BoundRuns(thin, {0, 30}, binding, 0), 10).size(), 10U);
}

/// An agent without data in its blocks looks at all of them. It needs no stack for each.
TEST(BoundRuns, ManyBlocksWithoutDataAreNoRecursion) {
    const Layout even{Shape::run(1), 2, 0, Layout::unbounded};
    EXPECT_EQ(walk(BoundRuns(even, {0, 1'000'000}, {1, 2}, 1), 10).size(), 0U);
}

TEST(BoundRuns, RunsInsideOfABlockStayWhole) {
    const Layout layout{Shape::strided(Shape::run(8), 64, 16), 1024, 0, Layout::unbounded};
    BoundRuns runs(layout, {0, 1024}, {512, 2}, 1);
    const BoundRun first = runs.next(INT64_MAX);
    EXPECT_EQ(first.run, (StridedRun{512, 8, 16, 32}));
    EXPECT_EQ(first.first, 256);
}

}  // namespace
}  // namespace oratorio::test::blocks_test
