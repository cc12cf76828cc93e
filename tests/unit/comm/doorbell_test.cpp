// SPDX-License-Identifier: BSD-3-Clause
#include "comm/doorbell.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace oratorio::test {
namespace {

using namespace std::chrono_literals;

/// Returns true if that thread of this process sleeps in the kernel.
bool sleeps(long thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_ends = text.rfind(") ");
    return name_ends != std::string::npos && text[name_ends + 2] == 'S';
}

/// A rank that sleeps on its doorbell until it is woken.
class Sleeper {
  public:
    explicit Sleeper(Doorbell& doorbell) : doorbell_(doorbell), heard_(doorbell.rings) {
        thread_ = std::thread([this] {
            number_ = syscall(SYS_gettid);
            wait_until_rung(doorbell_, heard_, 60s);
            woken_ = true;
        });
        // The rank marks itself asleep before it sleeps, so the test waits for the mark and for the
        // sleep: a ring in between would keep the rank awake.
        while (doorbell_.sleep != Doorbell::asleep || !sleeps(number_)) std::this_thread::yield();
    }
    ~Sleeper() {
        ring(doorbell_);
        thread_.join();
    }
    [[nodiscard]] bool woken() const { return woken_; }
    void wait() const {
        while (!woken_) std::this_thread::yield();
    }

  private:
    Doorbell& doorbell_;
    std::uint32_t heard_;
    std::atomic<bool> woken_{false};
    std::atomic<long> number_{0};
    std::thread thread_;
};

TEST(Doorbell, ARingWakesTheOwner) {
    Doorbell doorbell(WaitPolicy::nothing);
    const Sleeper sleeper(doorbell);
    ring(doorbell);
    sleeper.wait();
    EXPECT_EQ(doorbell.sleep, Doorbell::awake);
}

TEST(Doorbell, ASoftRingLeavesTheOwnerAsleepUntilItIsCalled) {
    Doorbell doorbell(WaitPolicy::nothing);
    const Sleeper sleeper(doorbell);
    EXPECT_FALSE(call(doorbell)) << "nothing has rung";
    ring_softly(doorbell);
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(sleeper.woken());
    EXPECT_TRUE(call(doorbell));
    sleeper.wait();
}

TEST(Doorbell, DoesNotWakeARankThatIsAwake) {
    Doorbell doorbell(WaitPolicy::nothing);
    ring_softly(doorbell);
    EXPECT_FALSE(call(doorbell));
}

TEST(Doorbell, ARankThatSawTheRingDoesNotSleep) {
    Doorbell doorbell(WaitPolicy::nothing);
    const std::uint32_t heard = doorbell.rings;
    ring_softly(doorbell);
    wait_until_rung(doorbell, heard, 60s);
    EXPECT_EQ(doorbell.sleep, Doorbell::awake);
}

TEST(Doorbell, ARankYieldsBeforeItSleepsWhereRanksShareCores) {
    Topology topology;
    topology.rank = 1;
    topology.size = 3;
    topology.cores = 2;
    topology.node_of = std::vector{0, 1, 1};
    EXPECT_EQ(usual_wait_policy(topology), WaitPolicy::spins);
    topology.cores = 1;
    EXPECT_EQ(usual_wait_policy(topology), WaitPolicy::yields);
}

}  // namespace
}  // namespace oratorio::test
