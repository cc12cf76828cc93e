// SPDX-License-Identifier: BSD-3-Clause
// NodeBoards: the memory in which the ranks of a node meet (base/node_transport). What a rank
// brings to an operation is its operand; operation n uses board n modulo kBoards.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/agreed.hpp"
#include "base/shared_memory.hpp"
#include "base/shared_outcome.hpp"
#include "base/topology.hpp"

namespace oratorio {

/// Which of its node's ranks this one is, and how many there are.
struct NodePlace {
    NodePlace(const Topology& topology, const Agreed<std::size_t>& list_bytes);
    [[nodiscard]] bool several_nodes() const { return nodes > 1; }
    [[nodiscard]] bool leads() const { return me == 0; }

    std::size_t nodes = 1;
    std::size_t node = 0;   ///< this rank's
    std::size_t ranks = 1;  ///< of this node
    std::size_t most = 1;   ///< of the node that has the most
    std::size_t me = 0;     ///< this rank among those of its node
    std::size_t list = 0;   ///< bytes of a list of all ranks, which the node has once; 0: none
};

class NodeBoards {
  public:
    static constexpr std::size_t kOperandMax = 512;  ///< bytes of one rank
    static constexpr std::uint64_t kBoards = 8;      ///< operations that may overlap
    /// What is gathered of several nodes and is no longer than this lies on a board.
    static constexpr std::size_t kResultMax = std::size_t{128} << 10;
    /// Longer lists lie once for a node. Equal on all ranks, as all constants.
    [[nodiscard]] static Agreed<std::size_t> usually_listed_from() {
        return agreed_from([] { return kResultMax; });
    }
    /// In a list of the node each rank has so much.
    static constexpr std::size_t kListed = 48;

    /// What all ranks share alike.
    struct alignas(64) Head {
        std::atomic<std::int64_t> counter{0};
        SharedOutcome outcome;
    };
    /// One rank.
    struct alignas(64) Member {
        explicit Member(Before usual) : bell(usual) {}
        Bell bell;
        alignas(64) std::atomic<std::uint64_t> finished{0};  ///< operations whose result it has
    };
    /// One operation.
    struct alignas(64) Board {
        std::atomic<std::uint64_t> arrived{0};  ///< ranks, summed over all operations of this board
        /// The operation's number + 1 when its act is over: a meeting's, or what the first rank
        /// does with those of other nodes.
        std::atomic<std::uint64_t> acted{0};
        std::atomic<ErrorKind> failed{ErrorKind::none};  ///< how that ended
    };

    NodeBoards(SharedMemory memory, NodePlace place)
        : memory_(std::move(memory)), place_(std::move(place)) {}
    [[nodiscard]] static Bytes bytes(const NodePlace& place);
    /// Of the list that a node should have: as many bytes as its ranks' blocks take where they are
    /// more than `from`. None on one node, nor where nodes differ so much that most of it were
    /// empty.
    [[nodiscard]] static Agreed<std::size_t> list_bytes(const Agreed<const Nodes&>& nodes,
                                                        const Agreed<std::size_t>& from);
    static void lay_out(std::span<std::byte> memory, const Topology& topology,
                        const NodePlace& place);

    [[nodiscard]] const NodePlace& place() const { return place_; }
    [[nodiscard]] Head& head() const;
    [[nodiscard]] Board& board(std::uint64_t number) const;
    /// By a rank's place on the node.
    [[nodiscard]] Member& member(std::size_t of) const;
    [[nodiscard]] std::span<std::byte> operand(const Board& board, std::size_t of) const;
    /// Of several nodes: what this one brings to a gather of them, and what comes of an operation.
    [[nodiscard]] std::span<std::byte> outgoing(const Board& board) const;
    [[nodiscard]] std::span<std::byte> result(const Board& board) const;
    /// Of several nodes, once for this one: for results that no board has room for.
    [[nodiscard]] std::span<std::byte> list() const;
    /// What the blocks of all ranks take of a result, with room for as many on each node as the
    /// largest has.
    [[nodiscard]] std::size_t gathered(std::size_t block) const {
        return place_.nodes * place_.most * block;
    }

  private:
    SharedMemory memory_;
    NodePlace place_;
};

}  // namespace oratorio
