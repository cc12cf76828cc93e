// SPDX-License-Identifier: BSD-3-Clause
// The simulated machine of both programs: nodes and storage targets in a star, on SimGrid.
#pragma once

#include <string>

namespace oratorio::replay {

/// Rates are in bytes per second, latencies in seconds.
struct Links {
    double rate = 0;  ///< into a node, and out of it
    double latency = 0;
    double middle = 0;        ///< rate that all nodes share
    double memory = 0;        ///< rate of each transfer inside a node
    double near_latency = 0;  ///< latency of those transfers
    double target = 0;        ///< rate of a storage target
};

[[nodiscard]] std::string name_of_node(int node);
[[nodiscard]] std::string name_of_target(int target);
/// Creates the hosts.
void make_platform(const Links& links, int nodes, int targets);

}  // namespace oratorio::replay
