// SPDX-License-Identifier: BSD-3-Clause
// NodeServices: what a transport offers if ranks of a node share memory, in addition to the
// operations of all transports. The implementation is comm/node_transport.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.hpp"
#include "comm/rendezvous.hpp"

namespace oratorio {

class Transport;
struct SharedFlushStatus;

class NodeServices {
  public:
    NodeServices() = default;
    NodeServices(const NodeServices&) = delete;
    NodeServices& operator=(const NodeServices&) = delete;

    /// Returns memory of this rank's node for `bytes` bytes, a multiple of the number of ranks. If
    /// all ranks pass this memory to gather() as `all`, the result lies there once for all ranks of
    /// the node. Each rank may read the result until it starts the next gather into this memory.
    /// Returns an empty span on all ranks if there is no such memory.
    [[nodiscard]] virtual std::span<std::byte> list(std::size_t bytes) const = 0;
    /// Returns the longest block, in bytes, that rendezvous() accepts; 0 with several nodes.
    [[nodiscard]] virtual std::size_t rendezvous_max() const = 0;
    /// Collective. The last rank to arrive calls `action` (comm/rendezvous.hpp). REQUIRES:
    /// mine.size() <= rendezvous_max(), and the transport isn't lost.
    virtual Result<void> rendezvous(std::span<std::byte> mine, const RendezvousAction& action) = 0;
    /// Returns the memory for FlushStatus (comm/flush_status.hpp); null if there are several nodes.
    [[nodiscard]] virtual SharedFlushStatus* flush_status() const = 0;

  protected:
    ~NodeServices() = default;
};

/// Returns NodeServices::list() of the transport, or an empty span if it has no such services.
[[nodiscard]] std::span<std::byte> list_of_node(Transport& transport, std::size_t bytes);

}  // namespace oratorio
