// SPDX-License-Identifier: BSD-3-Clause
// Agents: a rank's view of its agents. In data shipping (MPI-IO/GPFS 2001, section 2.1), each block
// of the file belongs to one agent, which makes the storage calls of all ranks for it. REQUIRES:
// one thread at a time uses the object.
#pragma once

#include <cstddef>
#include <span>

#include "data_shipping/blocks.hpp"
#include "data_shipping/message.hpp"

namespace oratorio {

/// One request to one agent. Description and data belong to the caller and must stay valid until
/// the request is reaped.
struct Shipment {
    RequestHead head;  ///< the caller chooses its number, unique among outstanding requests
    int agent = 0;
    std::span<const std::byte> description;
    std::span<std::byte> data;
};

class Agents {
  public:
    virtual ~Agents() = default;
    Agents() = default;
    Agents(const Agents&) = delete;
    Agents& operator=(const Agents&) = delete;

    [[nodiscard]] virtual const Binding& binding() const = 0;
    /// Returns the maximum size of a description and its data together.
    [[nodiscard]] virtual Bytes shipment_max() const = 0;
    /// Returns memory for whole requests that agents on this node can access, so that only heads
    /// need to be sent; empty if there is none. The memory outlives this object.
    [[nodiscard]] virtual std::span<std::byte> own_memory() { return {}; }
    /// Ships a request. Doesn't wait for calls of other ranks' programs. A failed connection is
    /// reported as the reply's error. Returns true if the agent reads the request from memory that
    /// it shares with this rank.
    virtual bool ship(const Shipment& shipment) = 0;
    /// Waits until at least one shipped request is done. Returns the number of replies in `out`; 0
    /// if no request is outstanding. The data of a completed read is in its request's buffer.
    virtual std::size_t reap(std::span<ReplyHead> out) = 0;
};

}  // namespace oratorio
