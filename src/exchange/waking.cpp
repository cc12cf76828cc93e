// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/waking.hpp"

#include <algorithm>

namespace oratorio {

void Waking::tell(Rank rank) const {
    if (rank == topology_.rank) return;
    if (gently_) {
        ring_softly(node_.bell(rank));
    } else {
        ring(node_.bell(rank));
    }
}

/// Wakes as many who slept through a ring as there are cores for. The others are called by those,
/// when they have nothing left to do.
void Waking::call_others() const {
    if (!gently_) return;
    int room = std::max(1, static_cast<int>(topology_.cores_of_node())) - node_.awake();
    for (int i = 1; i < topology_.size && room > 0; ++i) {
        if (call(node_.bell((topology_.rank + i) % topology_.size))) --room;
    }
    const Before usual = usual_before_sleep(topology_);
    const bool relieved = usual == Before::yields && room <= 0;
    node_.bell(topology_.rank).before = relieved ? Before::nothing : usual;
}

void Shift::begin() {
    if (on_) return;
    ++node_.awake();
    on_ = true;
}

/// Counts itself out before it looks at the others; who rings them looks at the count afterwards.
/// So either sees what the other did, and nobody sleeps on with work and a core to be had.
void Shift::end() {
    if (!on_) return;
    on_ = false;
    --node_.awake();
    waking_.call_others();
}

/// The bell is also that of accesses where nobody is relieved.
Shift::~Shift() {
    end();
    node_.bell(topology_.rank).before = usual_before_sleep(topology_);
}

}  // namespace oratorio
