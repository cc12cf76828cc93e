// SPDX-License-Identifier: BSD-3-Clause
// Discovery: finds out which ranks share a node, and which nodes share a machine or a network
// switch.
#pragma once

#include "comm/agreed.hpp"
#include "comm/switch_names.hpp"
#include "comm/topology.hpp"
#include "mpi/comm.hpp"

namespace oratorio {

/// Collective over `comm`, which may be the program's. Returns the nodes of the ranks: the host's
/// shared-memory domains, with its processor names as their names. With ranks_per_node > 0, each
/// group of that many consecutive ranks is a pretended node, named "<host>-<node>", so that one
/// machine can emulate several. The first rank of each node looks up the node's switch in
/// `switches`. If any of them finds none, the result has no switches. The function makes and frees
/// a communicator. Call it before duplicating `comm`: MPICH reserves memory for eight
/// communicators, and takes more than a millisecond to make the ninth.
[[nodiscard]] Result<Topology> discover(MPI_Comm comm, const Agreed<int>& ranks_per_node,
                                        const SwitchNames& switches = {});

}  // namespace oratorio
