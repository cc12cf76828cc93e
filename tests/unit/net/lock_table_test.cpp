// SPDX-License-Identifier: BSD-3-Clause
#include "net/lock_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/random.hpp"

namespace oratorio::test {
namespace {

using Owners = std::vector<LockTable::Owner>;

constexpr LockKey kFile{7, 1};

LockTable::Request exclusive(Offset begin, Offset end, LockKey file = kFile) {
    return {file, {begin, end}, true};
}
LockTable::Request shared(Offset begin, Offset end) {
    return {kFile, {begin, end}, false};
}

TEST(LockTable, an_exclusive_lock_waits_for_any_overlap) {
    LockTable table;
    EXPECT_TRUE(table.request(1, exclusive(10, 20)));
    EXPECT_FALSE(table.request(2, exclusive(19, 30)));
    EXPECT_FALSE(table.request(3, shared(0, 11)));
    EXPECT_FALSE(table.request(4, exclusive(0, 10)));  // waits behind owner 3
    EXPECT_EQ(table.release(1), (Owners{2, 3}));
    EXPECT_EQ(table.release(3), (Owners{4}));
}

TEST(LockTable, ranges_that_only_touch_and_other_files_do_not_wait) {
    LockTable table;
    EXPECT_TRUE(table.request(1, exclusive(10, 20)));
    EXPECT_TRUE(table.request(2, exclusive(20, 30)));
    EXPECT_TRUE(table.request(3, exclusive(0, 10)));
    EXPECT_TRUE(table.request(4, exclusive(10, 20, {8, 1})));
    EXPECT_TRUE(table.request(5, exclusive(10, 20, {7, 2})));
}

TEST(LockTable, shared_locks_stand_beside_each_other_and_keep_an_exclusive_one_out) {
    LockTable table;
    EXPECT_TRUE(table.request(1, shared(0, 100)));
    EXPECT_TRUE(table.request(2, shared(50, 150)));
    EXPECT_FALSE(table.request(3, exclusive(60, 70)));
    EXPECT_EQ(table.release(1), Owners{});
    EXPECT_EQ(table.release(2), Owners{3});
}

TEST(LockTable, nobody_overtakes_a_request_that_conflicts_with_his) {
    LockTable table;
    EXPECT_TRUE(table.request(1, shared(0, 100)));
    EXPECT_FALSE(table.request(2, exclusive(0, 100)));
    // If shared locks could overtake owner 2, they could keep it waiting for ever.
    EXPECT_FALSE(table.request(3, shared(0, 100)));
    EXPECT_TRUE(table.request(4, shared(100, 200)));
    EXPECT_EQ(table.release(1), Owners{2});
    EXPECT_EQ(table.release(2), Owners{3});
}

TEST(LockTable, who_stops_waiting_lets_those_behind_pass) {
    LockTable table;
    EXPECT_TRUE(table.request(1, shared(0, 100)));
    EXPECT_FALSE(table.request(2, exclusive(0, 100)));
    EXPECT_FALSE(table.request(3, shared(0, 50)));
    EXPECT_FALSE(table.request(4, shared(50, 100)));
    EXPECT_EQ(table.release(2), (Owners{3, 4}));
    EXPECT_EQ(table.release(2), Owners{});
    EXPECT_FALSE(table.has(2));
    EXPECT_EQ(table.size(), 3U);
}

/// The rules that a lock table must follow, checked by comparing all pairs of requests.
class Model {
  public:
    void request(LockTable::Owner owner, const LockTable::Request& wanted, bool granted) {
        order_.push_back(owner);
        wants_[owner] = wanted;
        if (granted) holds_.insert(owner);
        check();
    }
    void release(LockTable::Owner owner, const Owners& granted) {
        std::erase(order_, owner);
        wants_.erase(owner);
        holds_.erase(owner);
        holds_.insert(granted.begin(), granted.end());
        check();
    }

  private:
    /// Checks that a request is granted if and only if no earlier one conflicts with it.
    void check() const {
        for (std::size_t i = 0; i < order_.size(); ++i) {
            bool free = true;
            for (std::size_t j = 0; j < i; ++j) free = free && !conflict(order_[i], order_[j]);
            EXPECT_EQ(holds_.contains(order_[i]), free);
        }
    }
    [[nodiscard]] bool conflict(LockTable::Owner a, LockTable::Owner b) const {
        const auto& one = wants_.at(a);
        const auto& other = wants_.at(b);
        return one.file == other.file && (one.exclusive || other.exclusive) &&
               one.range.begin < other.range.end && other.range.begin < one.range.end;
    }

    Owners order_;
    std::map<LockTable::Owner, LockTable::Request> wants_;
    std::set<LockTable::Owner> holds_;
};

TEST(LockTable, random_requests_and_releases_keep_the_order_and_never_conflict) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        LockTable table;
        Model model;
        for (int step = 0; step < 200; ++step) {
            const auto owner = static_cast<LockTable::Owner>(random.below(8));
            if (table.has(owner)) {
                model.release(owner, table.release(owner));
                continue;
            }
            const auto begin = static_cast<Offset>(random.below(20));
            const LockTable::Request wanted{
                {random.below(2), 1},
                {begin, begin + 1 + static_cast<Offset>(random.below(10))},
                random.below(2) == 0};
            model.request(owner, wanted, table.request(owner, wanted));
        }
    }
}

}  // namespace
}  // namespace oratorio::test
