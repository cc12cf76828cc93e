// SPDX-License-Identifier: BSD-3-Clause
// Operation: one send, receive or collective that a rank of sim_transport has started and that has
// not been reported as done. Collective: the state of one collective over all ranks. RankState:
// what one rank has started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/transport.hpp"
#include "support/message_pieces.hpp"

namespace oratorio::test {

enum class OpKind { send, receive, reduce, gather, broadcast };
inline constexpr const char* kOpNames[] = {"send", "receive", "reduce", "gather", "broadcast"};

struct Operation {
    OpKind kind = OpKind::send;
    Rank peer = -1;  // send: to; receive: from; broadcast: root
    Tag tag = 0;
    std::size_t size = 0;
    Pieces<const std::byte> from = {};    // send
    Pieces<std::byte> into = {};          // receive
    std::span<const std::byte> out = {};  // collectives
    std::span<std::byte> in = {};
    std::size_t collective = 0;  // number of the collective in its rank's order
    ReduceOp op = ReduceOp::sum;
    bool matched = false;
    Rank source = -1;
    std::vector<std::byte> arrived = {};  // copied to `into` when the completion is reported

    [[nodiscard]] std::string describe() const {
        std::string text = std::string(kOpNames[static_cast<int>(kind)]) + " of " +
                           std::to_string(size) + " bytes";
        if (kind == OpKind::send) text += " to " + std::to_string(peer);
        if (kind == OpKind::receive) {
            text += " from " + (peer == kAnyRank ? "any" : std::to_string(peer));
        }
        if (kind == OpKind::send || kind == OpKind::receive) {
            return text + " tag " + std::to_string(tag);
        }
        if (kind == OpKind::broadcast) text += " root " + std::to_string(peer);
        if (kind == OpKind::reduce) text += " op " + std::to_string(static_cast<int>(op));
        return text + " (collective " + std::to_string(collective) + ")";
    }
};

// One collective of all ranks, the k-th that each rank starts.
struct Collective {
    std::string signature;  // of the first rank to join; all others must have the same
    Rank first = -1;
    int joined = 0;
    int told = 0;
    bool root_joined = false;
    std::vector<std::byte> data;        // broadcast: the root's; gather: all blocks
    std::vector<std::uint64_t> values;  // reduce
};

struct RankState {
    std::map<std::int64_t, Operation> operations;  // by ticket, in posting order
    std::int64_t next_ticket = 0;
    std::size_t next_collective = 0;
    bool ended = false;
    Error lost;  // set once this rank knows that a rank has failed
};

}  // namespace oratorio::test
