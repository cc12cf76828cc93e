// SPDX-License-Identifier: BSD-3-Clause
#include "net/lock_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "support/random.hpp"

namespace oratorio::test::lock_table_test {
namespace {

using Owners = std::vector<LockTable::Owner>;

/// The rules that a lock table must follow, checked by comparing all pairs of requests: a lock
/// waits for any overlap with an earlier request unless both are shared, ranges that only touch and
/// other files do not wait, and no request overtakes an earlier one that conflicts with it.
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
        Owners expected;  // the owners whose requests the release lets pass, in order
        std::ranges::copy_if(order_, std::back_inserter(expected), [&](LockTable::Owner other) {
            return !holds_.contains(other) && std::ranges::count(granted, other) == 1;
        });
        EXPECT_EQ(granted, expected);
        holds_.insert(granted.begin(), granted.end());
        check();
    }
    [[nodiscard]] std::size_t size() const { return order_.size(); }

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
            ASSERT_EQ(table.size(), model.size());
            if (table.has(owner)) {
                model.release(owner, table.release(owner));
                EXPECT_EQ(table.release(owner), Owners{}) << "it has nothing more";
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
}  // namespace oratorio::test::lock_table_test
