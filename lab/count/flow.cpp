// SPDX-License-Identifier: BSD-3-Clause
#include "count/flow.hpp"

#include "exchange/exchange.hpp"

namespace oratorio::count {

static_assert(sizeof(RoundContents) == kContentsBytes);

void Flow::add(const Cut& cut, bool is_own) {
    if (is_own) {
        own += cut.payload;
        own_pieces += cut.pieces;
        return;
    }
    ++senders;
    messages += cut.messages;
    pieces += cut.pieces;
    bytes += cut.payload;
    described += cut.described;
}

OnWire on_wire(const Flow& flow, const Plan& plan) {
    OnWire wire{flow.messages, flow.bytes + flow.described};
    if (plan.direction == Direction::write) return wire;
    wire.messages += flow.messages;
    wire.bytes += flow.messages * kAnswerHead;
    if (!plan.asks_contents()) return wire;
    wire.messages += flow.senders;
    wire.bytes += flow.senders * kContentsBytes;
    return wire;
}

}  // namespace oratorio::count
