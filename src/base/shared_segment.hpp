// SPDX-License-Identifier: BSD-3-Clause
// SharedSegment: memory that the ranks of each node map, made by the node's first rank and attached
// by the others. The one hand-shake for it: all ranks get their memory, or none does and all know
// why.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/agreed.hpp"
#include "base/node_gather.hpp"
#include "base/shared_memory.hpp"

namespace oratorio {

/// Ranks of that rank's node, and the first of them.
[[nodiscard]] std::int64_t ranks_beside(const Topology& topology, Rank rank);
[[nodiscard]] Rank first_beside(const Topology& topology, Rank rank);
/// On one node.
[[nodiscard]] bool are_beside(const Topology& topology, Rank one, Rank other);

/// Collective, in steps; used once. Stays where it is meanwhile: the transport knows its address.
class SharedSegment {
  public:
    /// What each rank tells the others of its node beside.
    using Card = std::array<std::uint64_t, 2>;
    struct Wish {
        Bytes bytes = 0;  ///< equal on the ranks of a node
        Card card = {};
        /// By the first rank, before others attach. May be empty.
        std::function<void(std::span<std::byte>)> prepare;
        /// Run by all ranks once all have their memory, with the cards of the node's ranks. Its
        /// outcome is agreed apart from that of the memory. Empty on all ranks or on none.
        std::function<Error(const std::vector<Card>&)> check;
    };

    SharedSegment() = default;
    explicit SharedSegment(Wish wish) : wish_(std::move(wish)) {}

    /// True when it is decided; an error is the transport's.
    Result<bool> step(Transport& transport);
    /// The same, waiting for it.
    Result<void> finish(Transport& transport);
    /// When it is decided, the same on all ranks: why there is none.
    [[nodiscard]] const Error& refusal() const { return agreement_.error(); }
    [[nodiscard]] bool refused() const { return refusal().kind != ErrorKind::none; }
    /// When the memory isn't refused, the same on all ranks: what the check found on some rank.
    [[nodiscard]] const Error& check_refusal() const { return checked_.error(); }
    /// Where it isn't refused.
    [[nodiscard]] SharedMemory take() { return std::move(memory_); }
    /// Of the ranks of this node, in their order.
    [[nodiscard]] std::vector<Card> cards() const;

  private:
    enum class Phase { ready, naming, deciding, checking, over };
    struct Told {
        char name[48] = {};  ///< of the memory it made; empty: it made none
        Card card = {};
    };
    Error create(const Topology& topology);
    Error attach(const Topology& topology);

    Phase phase_ = Phase::ready;
    Wish wish_;
    SharedMemory memory_;
    Error error_;  ///< this rank's
    Told told_;
    std::vector<Told> told_beside_;  ///< by the ranks of this node
    NodeGather telling_;
    Agreement agreement_;  ///< on the memory
    Agreement checked_;    ///< on the check
};

}  // namespace oratorio
