// SPDX-License-Identifier: BSD-3-Clause
#include "engine/token.hpp"

#include <span>

#include "exchange/messages/rounds.hpp"

namespace oratorio {

namespace {

Tag tag_of_go(unsigned sequence) {
    return roundless_tag_of(sequence, MessageKind::go);
}

/// Tests the ticket, and clears it when it has completed.
Result<Step> is_done(Transport& transport, Ticket& ticket) {
    const auto completion = transport.test(ticket);
    if (!completion) return completion.error();
    if (completion->done) ticket = {};
    return done_if(completion->done);
}

}  // namespace

Result<Step> Token::come(Transport& transport, unsigned sequence, int at_once) {
    const Rank before = transport.topology().rank - at_once;
    if (before < 0) return Step::done;
    if (!ticket_.valid()) {
        const auto started = transport.receive(before, tag_of_go(sequence), std::span(&go_, 1));
        if (!started) return started.error();
        ticket_ = *started;
    }
    return is_done(transport, ticket_);
}

Result<Step> Token::pass(Transport& transport, unsigned sequence, int at_once, Stats& stats) {
    const Topology& topology = transport.topology();
    if (at_once >= topology.size - topology.rank) return Step::done;
    if (!ticket_.valid()) {
        const auto started =
            transport.send(topology.rank + at_once, tag_of_go(sequence), std::span(&go_, 1));
        if (!started) return started.error();
        ticket_ = *started;
        stats.count_message(sizeof go_, topology.on_other_switch(topology.rank + at_once));
    }
    return is_done(transport, ticket_);
}

}  // namespace oratorio
