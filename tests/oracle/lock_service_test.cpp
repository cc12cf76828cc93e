// SPDX-License-Identifier: BSD-3-Clause
// Tests of the job's lock service for simulated ranks.
#include "oracle/lock_service.hpp"

#include <gtest/gtest.h>

#include <string>

namespace oratorio::oracle {
namespace {

constexpr LockKey kFile{7, 1};
constexpr Extent kRange{0, 8};

/// Two ranks that use one service and record what they do.
class TwoRanks {
  public:
    TwoRanks()
        : fibers_(stacks_, 1, Pace::even, 0), locks_(fibers_), one_(locks_, 0), two_(locks_, 1) {}
    template <class First, class Second>
    std::string run(const First& first, const Second& second) {
        fibers_.add("rank 0", [&] { first(*one_.reach({})); });
        fibers_.add("rank 1", [&] { second(*two_.reach({})); });
        return fibers_.run();
    }
    Fibers& fibers() { return fibers_; }
    SimulatedLocks& locks() { return locks_; }
    void note(const std::string& what) { notes_ += what + " "; }
    [[nodiscard]] const std::string& notes() const { return notes_; }

  private:
    Stacks stacks_;
    Fibers fibers_;
    SimulatedLocks locks_;
    LocksOfRank one_;
    LocksOfRank two_;
    std::string notes_;
};

/// Takes the range exclusively, and returns the id of the lock.
LockId take(LockService& service) {
    const auto held = service.acquire(kFile, kRange, true);
    EXPECT_TRUE(held.ok());
    return held.ok() ? *held : 0;
}

TEST(SimulatedLocks, ARankWaitsUntilTheHolderReleases) {
    TwoRanks ranks;
    bool taken = false;
    const auto holder = [&](LockService& service) {
        const LockId held = take(service);
        taken = true;
        for (int i = 0; i < 5; ++i) ranks.fibers().idle();
        ranks.note("released");
        EXPECT_TRUE(service.release(held).ok());
    };
    const auto waiter = [&](LockService& service) {
        while (!taken) ranks.fibers().idle();
        const LockId held = take(service);
        ranks.note("granted");
        EXPECT_TRUE(service.release(held).ok());
    };
    EXPECT_EQ(ranks.run(holder, waiter), "");
    EXPECT_EQ(ranks.notes(), "released granted ");
    EXPECT_EQ(ranks.locks().size(), 0u);
}

TEST(SimulatedLocks, LocksOfARankThatLeftAreFree) {
    TwoRanks ranks;
    bool taken = false;
    const auto leaver = [&](LockService& service) {
        (void)take(service);
        taken = true;
        for (int i = 0; i < 5; ++i) ranks.fibers().idle();
        ranks.locks().leave(0);
    };
    const auto waiter = [&](LockService& service) {
        while (!taken) ranks.fibers().idle();
        EXPECT_TRUE(service.release(take(service)).ok());
    };
    EXPECT_EQ(ranks.run(leaver, waiter), "");
    EXPECT_EQ(ranks.locks().size(), 0u);
}

TEST(SimulatedLocks, ADeadlockNamesTheHolder) {
    TwoRanks ranks;
    const auto twice = [&](LockService& service) {
        (void)take(service);
        (void)take(service);
    };
    const std::string wrong = ranks.run(twice, [](LockService&) {});
    EXPECT_NE(wrong.find("a lock of the job of [0, 8), which is held by rank 0 [0, 8)"),
              std::string::npos)
        << wrong;
}

}  // namespace
}  // namespace oratorio::oracle
