// SPDX-License-Identifier: BSD-3-Clause
// Operation: one send, receive or collective that a simulated rank has started and whose
// completion has not been reported. Collective: the state of one collective over all ranks.
// RankState: the operations that one rank has started.
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
    Rank peer = -1;  // the receiver of a send, the sender of a receive, or the root of a broadcast
    Tag tag = 0;
    std::size_t size = 0;
    Pieces<const std::byte> from = {};    // the data of a send
    Pieces<std::byte> into = {};          // the buffer of a receive
    std::span<const std::byte> out = {};  // this rank's contribution to a collective
    std::span<std::byte> in = {};
    std::size_t collective = 0;  // index of the collective among all that its rank starts, in
                                 // their order
    ReduceOp op = ReduceOp::sum;
    /// A receive from any rank on several nodes, which gets a message only when it is tested, as
    /// with MpiTransport.
    bool sought = false;
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

// One collective of all ranks: the k-th that each rank starts.
struct Collective {
    std::string signature;  // kind and sizes as the first rank to join gave them; all others must
                            // agree
    Rank first = -1;
    int joined = 0;
    int told = 0;
    bool root_joined = false;
    std::vector<std::byte> data;        // the root's data of a broadcast, or the blocks of all
                                        // ranks of a gather
    std::vector<std::uint64_t> values;  // the result of a reduction so far
};

struct RankState {
    std::map<std::int64_t, Operation> operations;  // by ticket, and so in the order in which they
                                                   // were started
    std::int64_t next_ticket = 0;
    std::size_t next_collective = 0;
    bool ended = false;
    Error lost;  // the failure of a rank's send, once this rank knows of it
};

}  // namespace oratorio::test
