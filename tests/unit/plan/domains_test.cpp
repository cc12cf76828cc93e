// SPDX-License-Identifier: BSD-3-Clause
#include "plan/domains.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace oratorio::test::domains_test {
namespace {

/// Returns, for each byte of the hull, how often it belongs to a region, over all aggregators and
/// rounds.
std::vector<int> deal_out(const FileDomains& domains, Extent hull, Bytes buffer) {
    std::vector<int> times(static_cast<std::size_t>(hull.length()), 0);
    for (int aggregator = 0; aggregator < domains.aggregators(); ++aggregator) {
        for (std::int64_t round = 0; round < domains.rounds(buffer); ++round) {
            const Region region = domains.region(aggregator, round, buffer);
            for (std::int64_t i = 0; i < region.count; ++i) {
                const Extent extent = region.extent(i);
                for (Offset at = extent.begin; at < extent.end; ++at) {
                    EXPECT_EQ(domains.owner(at), aggregator);
                    EXPECT_LT(region.buffer_position(i, at), buffer);
                    ++times[static_cast<std::size_t>(at - hull.begin)];
                }
            }
        }
    }
    return times;
}

/// Compares `touches` with a search through the regions of all rounds, for random ranges.
void expect_touches(const FileDomains& domains, Extent hull, Bytes buffer,
                    std::mt19937_64& random) {
    for (int trial = 0; trial < 8; ++trial) {
        const Offset begin = hull.begin - 50 + static_cast<Offset>(random() % 4000);
        const Extent range{begin, begin + static_cast<Bytes>(random() % 300)};
        for (int aggregator = 0; aggregator < domains.aggregators(); ++aggregator) {
            bool any = false;
            for (std::int64_t round = 0; round < domains.rounds(buffer); ++round)
                any = any || domains.region(aggregator, round, buffer).touches(range);
            ASSERT_EQ(domains.touches(aggregator, range), any)
                << "[" << range.begin << ", " << range.end << ") of aggregator " << aggregator;
        }
    }
}

TEST(FileDomains, EveryByteOfTheHullIsDealtToOneAggregatorInOneRound) {
    std::mt19937_64 random(7);
    for (int trial = 0; trial < 400; ++trial) {
        const Offset begin = static_cast<Offset>(random() % 5000);
        const Extent hull{begin, begin + 1 + static_cast<Bytes>(random() % 3000)};
        const int aggregators = 1 + static_cast<int>(random() % 5);
        const Bytes buffer = 1 + static_cast<Bytes>(random() % 700);
        const Bytes unit = 1 + static_cast<Bytes>(random() % 400);
        SCOPED_TRACE(testing::Message() << "trial " << trial);
        const auto domains = trial % 3 == 0   ? FileDomains::even(hull, aggregators, unit)
                             : trial % 3 == 1 ? FileDomains::cyclic(hull, aggregators, unit)
                                              : FileDomains::stripes(hull, aggregators, unit);
        for (const int times : deal_out(domains, hull, buffer)) ASSERT_EQ(times, 1);
        ASSERT_NO_FATAL_FAILURE(expect_touches(domains, hull, buffer, random));
    }
}

TEST(FileDomains, SlicesOfAllPartsDealEveryByteOnceAlsoWhenMoved) {
    std::mt19937_64 random(8);
    for (int trial = 0; trial < 300; ++trial) {
        const Offset begin = static_cast<Offset>(random() % 5000);
        const Bytes period = 1 + static_cast<Bytes>(random() % 900);
        const auto parts = 2 + static_cast<std::int64_t>(random() % 6);
        // The last part of the hull may be shorter than the period.
        const Bytes last = 1 + static_cast<Bytes>(random()) % period;
        const Extent hull{begin, begin + (parts - 1) * period + std::abs(last) % period + 1};
        const int aggregators = 1 + static_cast<int>(random() % 4);
        const Bytes buffer = 8 + static_cast<Bytes>(random() % 700);
        SCOPED_TRACE(testing::Message() << "trial " << trial);
        const auto domains = FileDomains::sliced(
            hull, aggregators, 1 + static_cast<Bytes>(random() % 64), period, parts);
        for (const int times : deal_out(domains, hull, buffer)) ASSERT_EQ(times, 1);
        const Extent further{hull.begin + 12345, hull.end + 12345};
        for (const int times : deal_out(domains.moved(12345), further, buffer)) ASSERT_EQ(times, 1);
        ASSERT_NO_FATAL_FAILURE(expect_touches(domains, hull, buffer, random));
        ASSERT_NO_FATAL_FAILURE(expect_touches(domains.moved(12345), further, buffer, random));
    }
}

TEST(FileDomains, ARoundOfSlicesHasAsMuchOfEachPart) {
    const auto domains = FileDomains::sliced({0, 24 * 100000}, 2, 4096, 100000, 24);
    const Region region = domains.region(1, 0, 1 << 20);
    EXPECT_EQ(region.count, 24);
    EXPECT_EQ(region.stride, 100000);
    EXPECT_EQ(region.length, 40960);  // (1 << 20) / 24, in whole pages
    EXPECT_EQ(region.begin, 53248);   // half a period, cut at a page boundary
}

TEST(FileDomains, EvenCutsFallOnTheAlignment) {
    const auto domains = FileDomains::even({1000, 100000}, 4, 4096);
    for (int aggregator = 1; aggregator < 4; ++aggregator) {
        EXPECT_EQ(domains.region(aggregator, 0, 1 << 20).extent(0).begin % 4096, 0);
    }
}

TEST(FileDomains, CyclicBlocksAreCountedFromOffsetZero) {
    const auto domains = FileDomains::cyclic({10500, 90000}, 3, 1000);
    EXPECT_EQ(domains.owner(10500), 0);
    EXPECT_EQ(domains.owner(11000), 1);
    EXPECT_EQ(domains.owner(13999), 0);
}

TEST(FileDomains, AStripeHasTheSameOwnerWhereverTheHullBegins) {
    constexpr Bytes kStripe = 1 << 20;
    constexpr Bytes kEnd = 40 * kStripe;
    for (const int aggregators : {1, 3, 4}) {
        for (const Offset begin : {Offset{0}, Offset{100}, kStripe, 5 * kStripe, 6 * kStripe - 1}) {
            const auto domains = FileDomains::stripes({begin, kEnd}, aggregators, kStripe);
            EXPECT_TRUE(domains.is_cyclic() && domains.is_striped());
            for (Offset at = 7 * kStripe; at < kEnd; at += kStripe / 2)
                ASSERT_EQ(domains.owner(at), at / kStripe % aggregators) << at << " of " << begin;
        }
    }
}

TEST(FileDomains, StripesMoveByWholeTurnsOnly) {
    constexpr Bytes kStripe = 1000;
    const auto domains = FileDomains::stripes({5500, 90000}, 4, kStripe);
    EXPECT_TRUE(domains.can_move(0));
    EXPECT_FALSE(domains.can_move(kStripe));
    EXPECT_FALSE(domains.can_move(4 * kStripe - 1));
    EXPECT_TRUE(domains.can_move(-4 * kStripe));
    ASSERT_TRUE(domains.can_move(12 * kStripe));
    const auto moved = domains.moved(12 * kStripe);
    EXPECT_EQ(moved.owner(21000), 1);
    EXPECT_EQ(moved.region(1, 0, kStripe).begin, 17000);
    EXPECT_TRUE(FileDomains::cyclic({5500, 90000}, 4, kStripe).can_move(1));
}

TEST(FileDomains, HullsPast4GiBKeepTheirOffsets) {
    const Offset far = Offset{5} << 40;
    const auto domains = FileDomains::even({far, far + (Bytes{1} << 36)}, 7, 4096);
    EXPECT_EQ(domains.region(0, 0, 1 << 24).extent(0).begin, far);
    EXPECT_EQ(domains.owner(far + (Bytes{1} << 36) - 1), 6);
}

TEST(Region, TouchesAgreesWithLookingAtEveryExtent) {
    std::mt19937_64 random(11);
    for (int trial = 0; trial < 2000; ++trial) {
        const auto domains =
            FileDomains::cyclic({100, 2000}, 3, 1 + static_cast<Bytes>(random() % 60));
        const Region region = domains.region(static_cast<int>(random() % 3),
                                             static_cast<std::int64_t>(random() % 3), 200);
        const Offset begin = static_cast<Offset>(random() % 2200);
        const Extent range{begin, begin + static_cast<Bytes>(random() % 40)};
        bool touched = false;
        for (std::int64_t i = 0; i < region.count; ++i)
            touched |= !intersect(region.extent(i), range).empty();
        ASSERT_EQ(region.touches(range), touched) << "trial " << trial;
    }
}

}  // namespace
}  // namespace oratorio::test::domains_test
