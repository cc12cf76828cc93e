// SPDX-License-Identifier: BSD-3-Clause
// The machine that oratorio_replay and oratorio_on_smpi simulate on SimGrid: nodes and storage
// targets in a star.
#pragma once

#include <string>

namespace oratorio::replay {

/// The links of the machine. Rates are in bytes per second, latencies in seconds.
struct Links {
    double rate = 0;  ///< rate of a node's link in each direction
    double latency = 0;
    double middle = 0;        ///< rate of the middle of the star, which all nodes share
    double memory = 0;        ///< rate of each transfer inside a node
    double near_latency = 0;  ///< latency of transfers inside a node
    double target = 0;        ///< rate of a storage target
};

[[nodiscard]] std::string name_of_node(int node);
[[nodiscard]] std::string name_of_target(int target);
/// Creates the SimGrid hosts of the nodes and of the targets, and the links between them.
void make_platform(const Links& links, int nodes, int targets);

}  // namespace oratorio::replay
