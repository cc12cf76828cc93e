// SPDX-License-Identifier: BSD-3-Clause
// Flow: what some ranks send to one place, and what of that is on the wire.
#pragma once

#include "count/cutter.hpp"
#include "plan/plan.hpp"

namespace oratorio::count {

/// What ranks of a node send to one place. In reads the messages ask, and as many answers bring the
/// data.
struct Flow {
    std::int64_t senders = 0;  ///< ranks that send at least one message
    std::int64_t messages = 0;
    std::int64_t pieces = 0;  ///< in those messages
    Bytes bytes = 0;          ///< of data in them, or in their answers
    Bytes described = 0;      ///< beside the data in those messages: heads and tables of runs
    Bytes own = 0;            ///< data that needs no message: a rank's own at its own place
    std::int64_t own_pieces = 0;

    void add(const Cut& cut, bool is_own);
    bool operator==(const Flow&) const = default;
};

/// What a message of either way has beside the data and what describes it.
inline constexpr Bytes kAnswerHead = sizeof(MessageHead);
inline constexpr Bytes kContentsBytes = 32;  ///< of what tells beforehand what a round will hold

/// All messages of both ways.
struct OnWire {
    std::int64_t messages = 0;
    Bytes bytes = 0;
};
[[nodiscard]] OnWire on_wire(const Flow& flow, const Plan& plan);

}  // namespace oratorio::count
