// SPDX-License-Identifier: BSD-3-Clause
// Collective writes on nodes of several network switches, for `oratorio count switches` and
// `oratorio simulate --switches`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "count/messages.hpp"

namespace oratorio::count {

enum class NetworkKind { fat_tree, dragonfly };

/// The switches of a machine, and the order in which a job has its nodes.
struct Network {
    const char* what;
    NetworkKind kind;
    int switches;
    int of_switch;  ///< nodes of a switch
    bool shuffled;
};
[[nodiscard]] std::span<const Network> networks();

/// A job on the nodes of a network. An aggregator is on every fourth node.
struct SwitchedJob {
    std::string data;
    Job job;                 ///< its switches are known
    std::vector<int> place;  ///< number of each node of the job within the machine
};
/// Returns the jobs on a network: one whose ranks have a block each, and a lattice in 4-D blocks.
[[nodiscard]] std::vector<SwitchedJob> jobs_on(const Network& network, int ranks);
/// Returns the same job with switches that are not known.
[[nodiscard]] Job without_switches(Job job);

}  // namespace oratorio::count
