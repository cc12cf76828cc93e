// SPDX-License-Identifier: BSD-3-Clause
// Opens the transport of a file: the one that fits the ranks of a communicator.
#pragma once

#include <memory>

#include "comm/node_boards.hpp"
#include "mpi/mpi_transport.hpp"

namespace oratorio {

struct OpenedTransport {
    std::unique_ptr<Transport> transport;
    MpiTransport* messages;  ///< `transport` itself, or the MPI part of it
};

/// Collective over `program`. Opens a transport in which the ranks of a node share memory for
/// collectives, and on one node for the counter; between nodes rank 0 serves the counter through
/// `counters`. Everything else goes through the host. See discover() for ranks_per_node,
/// NodeTransport::over for listed_from, MpiTransport for chores.
[[nodiscard]] Result<OpenedTransport> open_transport(
    MPI_Comm program, CounterService& counters, const Agreed<int>& ranks_per_node,
    const Agreed<std::size_t>& listed_from = NodeBoards::usually_listed_from(),
    MpiTransport::Chores chores = nullptr);
/// Collective over `own`. Opens a transport as above on `own`, a communicator made for it, with the
/// result of discover() for its ranks.
[[nodiscard]] Result<OpenedTransport> open_transport(
    Comm own, Topology topology, CounterService& counters,
    const Agreed<std::size_t>& listed_from = NodeBoards::usually_listed_from(),
    MpiTransport::Chores chores = nullptr);

}  // namespace oratorio
