// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/waking.hpp"

namespace oratorio {

void Waking::begin_shift() {
    if (!gently_ || on_shift_) return;
    ++node_.shift().awake;
    on_shift_ = true;
}

/// Counts itself out before it looks at the others; who rings them looks at the count afterwards.
/// So either sees what the other did, and nobody sleeps on with work and a core to be had.
void Waking::end_shift() {
    if (!on_shift_) return;
    on_shift_ = false;
    --node_.shift().awake;
    call_others();
}

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
void Waking::call_others() {
    if (!gently_) return;
    int room = topology_.cores - node_.shift().awake;
    for (int i = 1; i < topology_.size && room > 0; ++i) {
        if (call(node_.bell((topology_.rank + i) % topology_.size))) --room;
    }
    relieved_ = room <= 0;
}

}  // namespace oratorio
