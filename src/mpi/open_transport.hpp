// The transport of a file: what fits the ranks of a communicator.
#pragma once

#include <memory>

#include "base/transport.hpp"
#include "mpi/host.hpp"

namespace oratorio {

struct OpenedTransport {
    std::unique_ptr<Transport> transport;
    MPI_Comm comm;  ///< the transport's own, with the ranks of the program's
};

/// Collective over `program`. Collectives and the counter lie in shared memory where all ranks are
/// on one node, else they go by the host. See discover() for ranks_per_node.
[[nodiscard]] Result<OpenedTransport> open_transport(MPI_Comm program, int ranks_per_node);

}  // namespace oratorio
