// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/open_transport.hpp"

#include "base/node_transport.hpp"

namespace oratorio {

Result<OpenedTransport> open_transport(MPI_Comm program, const Agreed<int>& ranks_per_node) {
    auto opened = MpiTransport::open(program, ranks_per_node);
    if (!opened) return opened.error();
    MpiTransport& messages = **opened;
    auto transport = NodeTransport::over(std::move(*opened));
    if (!transport) return transport.error();
    if (transport->get() == &messages) messages.share_counter();
    return OpenedTransport{std::move(*transport), &messages};
}

}  // namespace oratorio
