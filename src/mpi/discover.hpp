// SPDX-License-Identifier: BSD-3-Clause
// Discovery: finds out which ranks share a node.
#pragma once

#include "comm/agreed.hpp"
#include "comm/switch_names.hpp"
#include "comm/topology.hpp"
#include "mpi/comm.hpp"

namespace oratorio {

/// Collective. Returns the nodes of the ranks: the shared-memory domains of the host, named by its
/// processor names. With ranks_per_node > 0, each group of that many consecutive ranks is a
/// pretended node, named "<host>-<node>", so that one machine can emulate several. The first rank
/// of each node finds the node's switch by `switches`. If one can't, the switches aren't known.
[[nodiscard]] Result<Topology> discover(const Comm& comm, const Agreed<int>& ranks_per_node,
                                        const SwitchNames& switches = {});

}  // namespace oratorio
