// SPDX-License-Identifier: BSD-3-Clause
// Which ranks sleep at once because other ranks keep all cores busy, and which yield first.
#include "exchange/node_shared/waking.hpp"

#include "sim/file_ranks.hpp"

namespace oratorio::test::waking_test {
namespace {

/// The transport of ranks on one node with `cores` cores.
class Cores : public Lent {
  public:
    Cores(Transport& owner, int cores) : Lent(owner), topology_(owner.topology()) {
        topology_.cores = cores;
    }
    const Topology& topology() const override { return topology_; }

  private:
    Topology topology_;
};

/// Returns how rank 0 waits before it sleeps, while it has nothing to do and rank 1 still works.
WaitPolicy before_sleep_beside_one_at_work(int cores) {
    const auto seen = on_ranks(3, [&](Transport& transport) {
        Cores ranks(transport, cores);
        const Topology& topology = ranks.topology();
        NodeMemory node;
        for (auto made = node.prepare(ranks, 4096, false); *made != Step::done;
             made = node.prepare(ranks, 4096, false))
            transport.idle();
        WaitPolicy before = WaitPolicy::spins;
        {
            ActiveScope shift(node, topology);
            shift.begin();
            EXPECT_EQ(kind_of(agree_on_error(ranks, {})), ErrorKind::none);
            if (topology.rank != 1) shift.end();
            EXPECT_EQ(kind_of(agree_on_error(ranks, {})), ErrorKind::none);
            Waking(node, topology, true).call_others();
            before = node.doorbell(topology.rank).policy;
            EXPECT_EQ(kind_of(agree_on_error(ranks, {})), ErrorKind::none);
        }
        EXPECT_EQ(node.doorbell(topology.rank).policy, usual_wait_policy(topology))
            << "reset for the rank that uses the doorbell next";
        return before;
    });
    return seen.front();
}

TEST(Waking, ARelievedRankSleepsAtOnceIfRanksOutnumberCores) {
    EXPECT_EQ(before_sleep_beside_one_at_work(1), WaitPolicy::nothing);
    EXPECT_EQ(before_sleep_beside_one_at_work(2), WaitPolicy::yields) << "a core is free";
    EXPECT_EQ(before_sleep_beside_one_at_work(3), WaitPolicy::spins);
}

}  // namespace
}  // namespace oratorio::test::waking_test
