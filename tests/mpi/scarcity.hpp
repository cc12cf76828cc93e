// SPDX-License-Identifier: BSD-3-Clause
// Scarcity: a program that has scarcity.cpp in it and exports its symbols can refuse memory and
// threads to the Oratorio library of its process, and to nothing else there.
#pragma once

namespace oratorio::test {

struct Scarcity {
    long first = -1;        ///< the allocation from which on memory is refused; negative: never
    bool for_good = false;  ///< all from there on, not that one alone
    bool mappings = false;  ///< none are given
    bool threads = false;   ///< none are given
};

/// From now on in this process. Begins the count of allocations anew.
void set_scarcity(const Scarcity& next);
/// Allocations since then.
long allocations_made();
/// What was refused since then.
long refusals();

}  // namespace oratorio::test
