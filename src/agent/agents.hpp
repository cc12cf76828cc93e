// SPDX-License-Identifier: BSD-3-Clause
// Agents: who makes a rank's storage calls for it, block by block of the file (data shipping,
// MPI-IO/GPFS 2001, section 2.1). What a rank's work sees of them; used by one thread at a time.
#pragma once

#include <cstddef>
#include <span>

#include "agent/blocks.hpp"
#include "agent/message.hpp"

namespace oratorio {

/// One request to one agent. Description and data stay the caller's and lie there until it is
/// reaped.
struct Shipment {
    RequestHead head;  ///< its number is the caller's, and no other's meanwhile
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
    /// Bytes that a description and its data may have together.
    [[nodiscard]] virtual Bytes shipment_max() const = 0;
    /// Where requests are best made, whole ones: who is beside sees it there. The agents'; may be
    /// empty.
    [[nodiscard]] virtual std::span<std::byte> own_memory() { return {}; }
    /// Needs no other rank's program. A failure of the way there comes as the reply's error. True
    /// when the agent finds it in memory that it shares with this rank.
    virtual bool ship(const Shipment& shipment) = 0;
    /// Waits until one of those that were shipped is done, in any order; 0 when there is none. Of a
    /// read its data is there.
    virtual std::size_t reap(std::span<ReplyHead> out) = 0;
};

}  // namespace oratorio
