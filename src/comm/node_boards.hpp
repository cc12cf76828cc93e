// SPDX-License-Identifier: BSD-3-Clause
// NodeBoards: the shared memory in which the ranks of a node run collectives (comm/node_transport).
// The value that a rank contributes to an operation is its operand. Operation n uses board n modulo
// kBoards.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "comm/agreed.hpp"
#include "comm/flush_status.hpp"
#include "comm/topology.hpp"
#include "memory/shared_memory.hpp"

namespace oratorio {

/// The place of this rank on its node, and the sizes of nodes.
struct NodePlace {
    NodePlace(const Topology& topology, const Agreed<std::size_t>& list_bytes);
    [[nodiscard]] bool several_nodes() const { return nodes > 1; }
    [[nodiscard]] bool leads() const { return me == 0; }

    std::size_t nodes = 1;
    std::size_t node = 0;   ///< node of this rank
    std::size_t ranks = 1;  ///< ranks on this node
    std::size_t most = 1;   ///< largest number of ranks on any node
    std::size_t me = 0;     ///< index of this rank on its node
    std::size_t list = 0;   ///< bytes of the node's shared list with an entry per rank; 0: no list
};

class NodeBoards {
  public:
    static constexpr std::size_t kOperandMax = 512;  ///< the longest operand of a rank, in bytes
    static constexpr std::uint64_t kBoards = 8;      ///< number of operations that may overlap
    /// The most bytes that a board has for the result of an operation over several nodes.
    static constexpr std::size_t kResultMax = std::size_t{128} << 10;
    /// Returns the usual length in bytes above which a result lies in memory once per node, in the
    /// node's list. The value is agreed, because it is a constant.
    [[nodiscard]] static Agreed<std::size_t> usually_listed_from() {
        return agreed_from([] { return kResultMax; });
    }
    /// Number of bytes per rank in the node's list.
    static constexpr std::size_t kListed = 48;

    /// What all ranks of the node share.
    struct alignas(64) Head {
        std::atomic<std::int64_t> counter{0};  ///< the shared number; publishes nothing else
        SharedFlushStatus outcome;
    };
    /// The state of one rank.
    struct alignas(64) Member {
        explicit Member(WaitPolicy usual) : doorbell(usual) {}
        Doorbell doorbell;
        /// All operations with a smaller number have ended on this rank. The rank stores the number
        /// after it has read their boards; ranks that load it may write to those boards again.
        alignas(64) std::atomic<std::uint64_t> finished{0};
    };
    /// The state of one operation. Memory order, sequentially consistent like that of Member: the
    /// increment of `arrived` publishes a rank's operand, and the store to `acted` publishes the
    /// result and `failed`, to the ranks that load them in is_complete().
    struct alignas(64) Board {
        /// Number of ranks that have arrived, summed over all operations of this board.
        std::atomic<std::uint64_t> arrived{0};
        /// The operation's number + 1 once its action is done: the action of a rendezvous, or the
        /// exchange of this node's first rank with the first ranks of other nodes.
        std::atomic<std::uint64_t> acted{0};
        std::atomic<ErrorKind> failed{ErrorKind::none};  ///< error of the action, if it failed
    };

    NodeBoards(SharedMemory memory, NodePlace place)
        : memory_(std::move(memory)), place_(std::move(place)) {}
    [[nodiscard]] static Bytes bytes(const NodePlace& place);
    /// Returns the length of each node's list: kListed bytes per rank, counting each node as if it
    /// had as many ranks as the largest node. Returns 0 if that is at most `from`, if there is only
    /// one node, or if the nodes differ so much in size that most of the list would be empty.
    [[nodiscard]] static Agreed<std::size_t> list_bytes(const Agreed<const Nodes&>& nodes,
                                                        const Agreed<std::size_t>& from);
    static void lay_out(std::span<std::byte> memory, const Topology& topology,
                        const NodePlace& place);

    [[nodiscard]] const NodePlace& place() const { return place_; }
    [[nodiscard]] Head& head() const;
    [[nodiscard]] Board& board(std::uint64_t number) const;
    /// Returns the state of the rank at index `of` on this node.
    [[nodiscard]] Member& member(std::size_t of) const;
    [[nodiscard]] std::span<std::byte> operand(const Board& board, std::size_t of) const;
    /// Return the memory for this node's contribution to a gather over nodes, and the memory for
    /// the result of an operation. Both are empty with one node.
    [[nodiscard]] std::span<std::byte> outgoing(const Board& board) const;
    [[nodiscard]] std::span<std::byte> result(const Board& board) const;
    /// Returns the node's memory for results that fit no board; empty if it has none.
    [[nodiscard]] std::span<std::byte> list() const;
    /// Returns the length of a gathered result with blocks of `block` bytes. Each node has room in
    /// it for as many ranks as the largest node has.
    [[nodiscard]] std::size_t gathered(std::size_t block) const {
        return place_.nodes * place_.most * block;
    }

  private:
    SharedMemory memory_;
    NodePlace place_;
};

}  // namespace oratorio
