// SPDX-License-Identifier: BSD-3-Clause
// NodeGather: a gather among the ranks of each node, whatever the number of nodes.
#pragma once

#include <span>
#include <vector>

#include "base/step.hpp"
#include "comm/transport.hpp"

namespace oratorio {

/// Collective over all ranks, in steps; used once. Gathers the blocks of a node's ranks on each
/// rank of that node. No message goes from one node to another. With n ranks on its node, a rank
/// sends and receives at most 2 ceil(log2(n)) messages. REQUIRES: neither the object nor its memory
/// moves until step() has returned Step::done, because the transport holds their addresses.
class NodeGather {
  public:
    NodeGather() = default;
    /// `all` has a block of mine.size() bytes for each rank of the node, in their order.
    NodeGather(std::span<const std::byte> mine, std::span<std::byte> all)
        : mine_(mine), all_(all) {}

    /// Returns Step::done when all blocks have arrived. Fails only if the transport fails.
    Result<Step> step(Transport& transport);

  private:
    enum class Phase { ready, given_by_children, gave_parent, told_by_parent, over };
    Result<void> go_on(Transport& transport);
    Result<void> start_for_node(Transport& transport);
    Result<void> give_parent(Transport& transport);
    Result<void> hear_parent(Transport& transport);
    Result<void> tell_children(Transport& transport);
    Result<void> note(const Result<Ticket>& started);
    [[nodiscard]] std::span<std::byte> blocks(std::size_t first, std::size_t count) const;

    Phase phase_ = Phase::ready;
    std::span<const std::byte> mine_;
    std::span<std::byte> all_;
    std::size_t place_ = 0;  ///< index of this rank on its node
    /// Number of ranks whose blocks pass through this one, itself included.
    std::size_t below_ = 1;
    std::vector<Ticket> waits_for_;
};

}  // namespace oratorio
