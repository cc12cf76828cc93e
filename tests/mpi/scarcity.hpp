// SPDX-License-Identifier: BSD-3-Clause
// Scarcity: a program that links scarcity.cpp and exports its symbols can refuse memory and threads
// to the Oratorio library of its process, and to nothing else there.
#pragma once

namespace oratorio::test {

struct Scarcity {
    long first = -1;        ///< number of the allocation that fails; negative: none
    bool for_good = false;  ///< all later allocations fail, too
    bool mappings = false;  ///< mappings fail, too
    bool threads = false;   ///< threads cannot be started
};

/// Sets the scarcity of this process from now on. Restarts the count of allocations.
void set_scarcity(const Scarcity& next);
/// Returns the number of allocations since set_scarcity().
long allocations_made();
/// Returns the number of refused requests since set_scarcity().
long refusals();

}  // namespace oratorio::test
