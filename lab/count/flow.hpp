// SPDX-License-Identifier: BSD-3-Clause
// Flow: the messages that the ranks of a node send to one aggregator or to local aggregators.
#pragma once

#include "count/cutter.hpp"
#include "plan/plan.hpp"

namespace oratorio::count {

/// The messages of a node's ranks to one aggregator or to local aggregators. In reads they are
/// requests, and each has a reply that carries the data.
struct Flow {
    std::int64_t senders = 0;  ///< ranks that send at least one message
    std::int64_t messages = 0;
    std::int64_t pieces = 0;  ///< pieces that the messages describe
    Bytes bytes = 0;          ///< data of the messages, or of their replies
    Bytes described = 0;      ///< heads and tables of runs in those messages
    Bytes own = 0;  ///< data that needs no message, because the sender is also the receiver
    std::int64_t own_pieces = 0;

    void add(const Cut& cut, bool is_own);
    bool operator==(const Flow&) const = default;
};

/// The size of a message without its data and its tables, in either direction.
inline constexpr Bytes kAnswerHead = sizeof(MessageHead);
inline constexpr Bytes kContentsBytes = 32;  ///< size of a contents message

/// The messages of a flow in both directions, including replies and contents messages.
struct OnWire {
    std::int64_t messages = 0;
    Bytes bytes = 0;
};
[[nodiscard]] OnWire on_wire(const Flow& flow, const Plan& plan);

}  // namespace oratorio::count
