// SPDX-License-Identifier: BSD-3-Clause
#include "comm/node_boards.hpp"

#include <algorithm>
#include <new>

namespace oratorio {

namespace {

using Board = NodeBoards::Board;
using Head = NodeBoards::Head;
using Member = NodeBoards::Member;

static_assert(NodeBoards::kOperandMax % 64 == 0);

std::size_t operand_bytes(const NodePlace& place) {
    return place.ranks * NodeBoards::kOperandMax;
}

std::size_t outgoing_bytes(const NodePlace& place) {
    return place.several_nodes() ? place.most * NodeBoards::kOperandMax : 0;
}

/// Returns the length of a board's result: room for a summary of each rank, within fixed bounds. On
/// one node there is no result.
std::size_t result_bytes(const NodePlace& place) {
    constexpr std::size_t kOfRank = 128;
    if (!place.several_nodes()) return 0;
    return std::clamp(place.nodes * place.most * kOfRank, NodeBoards::kOperandMax,
                      NodeBoards::kResultMax);
}

std::size_t board_bytes(const NodePlace& place) {
    return sizeof(Board) + operand_bytes(place) + outgoing_bytes(place) + result_bytes(place);
}

}  // namespace

NodePlace::NodePlace(const Topology& topology, const Agreed<std::size_t>& list_bytes)
    : nodes(static_cast<std::size_t>(topology.nodes())),
      most(static_cast<std::size_t>(topology.node_of.most())),
      list(*list_bytes) {
    const NodeSlot mine = topology.slot(topology.rank);
    node = static_cast<std::size_t>(mine.node);
    ranks = static_cast<std::size_t>(topology.ranks_of(mine.node));
    me = static_cast<std::size_t>(mine.place);
}

Agreed<std::size_t> NodeBoards::list_bytes(const Agreed<const Nodes&>& nodes,
                                           const Agreed<std::size_t>& from) {
    return agreed_from(
        [](const Nodes& of, std::size_t least) -> std::size_t {
            const auto ranks = static_cast<std::size_t>(of.size);
            const auto rooms =
                static_cast<std::size_t>(of.nodes()) * static_cast<std::size_t>(of.node_of.most());
            const bool wanted = !of.one_node() && rooms * kListed > least;
            return wanted && rooms <= 2 * ranks ? rooms * kListed : 0;
        },
        nodes, from);
}

// The memory holds, in this order: the Head; a Member per rank; for each board a Board, an operand
// per rank, the outgoing block and the result; the list.
Bytes NodeBoards::bytes(const NodePlace& place) {
    return static_cast<Bytes>(sizeof(Head) + place.ranks * sizeof(Member) +
                              kBoards * board_bytes(place) + place.list);
}

void NodeBoards::lay_out(std::span<std::byte> memory, const Topology& topology,
                         const NodePlace& place) {
    const WaitPolicy usual = usual_wait_policy(topology);
    const auto take = [&memory](std::size_t bytes) {
        std::byte* const at = memory.data();
        memory = memory.subspan(bytes);
        return at;
    };
    new (take(sizeof(Head))) Head;
    for (std::size_t rank = 0; rank < place.ranks; ++rank) new (take(sizeof(Member))) Member(usual);
    for (std::uint64_t number = 0; number < kBoards; ++number) new (take(board_bytes(place))) Board;
}

Head& NodeBoards::head() const {
    return *reinterpret_cast<Head*>(memory_.span().data());
}

Member& NodeBoards::member(std::size_t of) const {
    return reinterpret_cast<Member*>(memory_.span().data() + sizeof(Head))[of];
}

Board& NodeBoards::board(std::uint64_t number) const {
    std::byte* const first = memory_.span().data() + sizeof(Head) + place_.ranks * sizeof(Member);
    return *reinterpret_cast<Board*>(first + number % kBoards * board_bytes(place_));
}

std::span<std::byte> NodeBoards::operand(const Board& board, std::size_t of) const {
    auto* const first = reinterpret_cast<std::byte*>(const_cast<Board*>(&board + 1));
    return {first + of * kOperandMax, kOperandMax};
}

std::span<std::byte> NodeBoards::outgoing(const Board& board) const {
    return {operand(board, 0).data() + operand_bytes(place_), outgoing_bytes(place_)};
}

std::span<std::byte> NodeBoards::result(const Board& board) const {
    return {outgoing(board).data() + outgoing_bytes(place_), result_bytes(place_)};
}

std::span<std::byte> NodeBoards::list() const {
    return memory_.span().last(place_.list);
}

}  // namespace oratorio
