// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/node_shared/waking.hpp"

#include <algorithm>

namespace oratorio {

void Waking::tell(Rank rank) const {
    if (rank == topology_.rank) return;
    if (gently_) {
        ring_softly(node_.doorbell(rank));
    } else {
        ring(node_.doorbell(rank));
    }
}

/// Wakes ranks that were rung while asleep, at most one for each idle core. Those ranks wake the
/// rest when they run out of work.
void Waking::call_others() const {
    if (!gently_) return;
    int room = std::max(1, static_cast<int>(topology_.cores_of_node())) - node_.awake();
    for (int i = 1; i < topology_.size && room > 0; ++i) {
        if (call(node_.doorbell((topology_.rank + i) % topology_.size))) --room;
    }
    const WaitPolicy usual = usual_wait_policy(topology_);
    const bool relieved = usual == WaitPolicy::yields && room <= 0;
    node_.doorbell(topology_.rank).policy = relieved ? WaitPolicy::nothing : usual;
}

void ActiveScope::begin() {
    if (on_) return;
    ++node_.awake();
    on_ = true;
}

/// Stops counting this rank as working. Decrements the count before it scans the doorbells, while
/// a ringing rank reads the count after it rings. At least one of the two sees the other's change,
/// so no rank stays asleep while there is work and an idle core.
void ActiveScope::end() {
    if (!on_) return;
    on_ = false;
    --node_.awake();
    waking_.call_others();
}

/// Restores the doorbell's usual wait policy, for accesses in which no rank gives up its core.
ActiveScope::~ActiveScope() {
    end();
    node_.doorbell(topology_.rank).policy = usual_wait_policy(topology_);
}

}  // namespace oratorio
