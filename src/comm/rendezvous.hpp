// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous: a collective step in which each rank contributes a block, one rank processes all
// blocks, and each rank gets its own block back. If the ranks share memory and the blocks are
// short, the last rank to arrive processes them; else rank 0 does, between a gather and a broadcast
// of all blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.hpp"
#include "comm/topology.hpp"

namespace oratorio {

class Transport;

/// The ranks' blocks in a rendezvous, of equal length and in rank order.
struct Blocks {
    std::byte* first = nullptr;
    std::size_t bytes = 0;   ///< length of a block
    std::size_t stride = 0;  ///< bytes from the start of one block to the start of the next
    Rank ranks = 0;
    [[nodiscard]] std::span<std::byte> of(Rank rank) const {
        return {first + static_cast<std::size_t>(rank) * stride, bytes};
    }
};
using RendezvousAction = std::function<void(const Blocks& all)>;

/// Collective; waits for all ranks. One rank calls `action` with the blocks of all ranks. Each rank
/// gets its block back as `action` leaves it.
Result<void> rendezvous(Transport& transport, std::span<std::byte> mine,
                        const RendezvousAction& action);
/// Returns the longest block, in bytes, with which a rendezvous costs no message.
[[nodiscard]] std::size_t rendezvous_max(Transport& transport);

/// A rank's request to add `by` to the number that all ranks share, and the result. It lies at the
/// head of the rank's block in a rendezvous.
struct Reservation {
    std::int64_t by = 0;
    std::int64_t first = 0;              ///< value of the number before this rank's addition
    ErrorKind failed = ErrorKind::none;  ///< why the number couldn't be changed
    /// Returns `first`, or an error if the number couldn't be changed.
    [[nodiscard]] Result<std::int64_t> value() const;
};

/// Serves the Reservation at the head of each block, as if the ranks called fetch_add one after the
/// other, in rank order, with no other call between them. REQUIRES: called by the action of a
/// rendezvous.
void reserve_for_all(Transport& transport, const Blocks& all);
/// Collective. Adds `by` to the shared number for each rank, in rank order, in a rendezvous of its
/// own. Returns the value before this rank's addition.
Result<std::int64_t> reserve(Transport& transport, std::int64_t by);

}  // namespace oratorio
