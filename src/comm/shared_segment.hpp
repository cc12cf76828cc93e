// SPDX-License-Identifier: BSD-3-Clause
// SharedSegment: memory that the ranks of each node map, created by the node's first rank and
// attached by the others. This is the only handshake for such memory: either all ranks get it, or
// none does and all know the reason.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/step.hpp"
#include "comm/agreed.hpp"
#include "comm/node_gather.hpp"
#include "memory/shared_memory.hpp"

namespace oratorio {

/// Return the number of ranks on the node of `rank`, and the first of those ranks.
[[nodiscard]] std::int64_t ranks_beside(const Topology& topology, Rank rank);
[[nodiscard]] Rank first_beside(const Topology& topology, Rank rank);
/// Returns true if both ranks are on the same node.
[[nodiscard]] bool are_beside(const Topology& topology, Rank one, Rank other);

/// Collective, in steps; used once. REQUIRES: the object does not move until step() has returned
/// Step::done, because the transport holds its address.
class SharedSegment {
  public:
    /// Two words that each rank sends to the other ranks of its node along with the handshake.
    using Card = std::array<std::uint64_t, 2>;
    struct Options {
        Bytes bytes = 0;  ///< length of the memory; equal on the ranks of a node
        Card card = {};
        /// The node's first rank calls this function before the others attach. May be empty.
        std::function<void(std::span<std::byte>)> prepare;
        /// All ranks call this function once all have their memory, with the cards of their node's
        /// ranks. The ranks agree on its outcome separately from that of the memory. Must be empty
        /// on all ranks or on none.
        std::function<Error(const std::vector<Card>&)> check;
    };

    SharedSegment() = default;
    explicit SharedSegment(Options options) : options_(std::move(options)) {}

    /// Returns Step::done when the outcome is decided. Fails only if the transport fails.
    Result<Step> step(Transport& transport);
    /// Calls step() until it returns Step::done, waiting for the other ranks.
    Result<void> finish(Transport& transport);
    /// Returns the reason why there is no memory, the same on all ranks. Valid once step() has
    /// returned Step::done.
    [[nodiscard]] const Error& refusal() const { return agreement_.error(); }
    [[nodiscard]] bool refused() const { return refusal().kind != ErrorKind::none; }
    /// Returns the error that the check found on some rank, the same on all ranks. Valid once
    /// step() has returned Step::done, if the memory wasn't refused.
    [[nodiscard]] const Error& check_refusal() const { return checked_.error(); }
    /// Returns the memory. REQUIRES: !refused().
    [[nodiscard]] SharedMemory take() { return std::move(memory_); }
    /// Returns the cards of this node's ranks, in their order.
    [[nodiscard]] std::vector<Card> cards() const;

  private:
    enum class Phase { ready, naming, deciding, checking, over };
    struct Told {
        char name[48] = {};  ///< name of the memory that the sender has created; empty: none
        Card card = {};
    };
    Error create(const Topology& topology);
    Error attach(const Topology& topology);

    Phase phase_ = Phase::ready;
    Options options_;
    SharedMemory memory_;
    Error error_;  ///< this rank's own error
    Told told_;
    std::vector<Told> told_beside_;  ///< what each rank of this node has sent
    NodeGather telling_;
    Agreement agreement_;  ///< agreement on whether all ranks have the memory
    Agreement checked_;    ///< agreement on the outcome of the check
};

}  // namespace oratorio
