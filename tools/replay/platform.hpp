// SPDX-License-Identifier: BSD-3-Clause
// The machine of both programs: nodes and storage targets in a star, on SimGrid.
#pragma once

#include <string>

namespace oratorio::replay {

/// Rates in bytes a second, latencies in seconds.
struct Links {
    double rate = 0;  ///< into a node, and out of it
    double latency = 0;
    double middle = 0;        ///< rate of what all nodes share
    double memory = 0;        ///< rate of each transfer inside a node
    double near_latency = 0;  ///< of those
    double target = 0;        ///< rate of a storage target
};

[[nodiscard]] std::string name_of_node(int node);
[[nodiscard]] std::string name_of_target(int target);
/// Hosts of those names.
void make_platform(const Links& links, int nodes, int targets);

}  // namespace oratorio::replay
