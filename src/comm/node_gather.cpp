// SPDX-License-Identifier: BSD-3-Clause
#include "comm/node_gather.hpp"

#include <algorithm>
#include <bit>

namespace oratorio {

namespace {

constexpr Tag kGathering = 2;

Rank beside(const Topology& topology, std::size_t place) {
    return topology.rank_at({topology.node(topology.rank), static_cast<int>(place)});
}

/// Returns the parent in the binomial tree: the place without its lowest set bit.
Rank parent_of(const Topology& topology, std::size_t place) {
    return beside(topology, place & (place - 1));
}

}  // namespace

Result<Step> NodeGather::step(Transport& transport) {
    for (;;) {
        while (!waits_for_.empty()) {
            const auto completion = transport.test(waits_for_.back());
            if (!completion) return completion.error();
            if (!completion->done) return Step::idle;
            waits_for_.pop_back();
        }
        if (phase_ == Phase::over) return Step::done;
        if (const auto gone = go_on(transport); !gone) return gone.error();
    }
}

Result<void> NodeGather::go_on(Transport& transport) {
    switch (phase_) {
        case Phase::ready:
            return start_for_node(transport);
        case Phase::given_by_children:
            phase_ = Phase::gave_parent;
            return give_parent(transport);
        case Phase::gave_parent:
            phase_ = Phase::told_by_parent;
            return hear_parent(transport);
        case Phase::told_by_parent:
            phase_ = Phase::over;
            return tell_children(transport);
        case Phase::over:
            break;
    }
    return {};
}

/// Starts the gather. With one node this is the transport's own gather, which may be faster than
/// messages.
Result<void> NodeGather::start_for_node(Transport& transport) {
    const Topology& topology = transport.topology();
    if (topology.one_node()) {
        phase_ = Phase::over;
        return note(transport.gather(mine_, all_));
    }
    phase_ = Phase::given_by_children;
    place_ = static_cast<std::size_t>(topology.slot(topology.rank).place);
    const std::size_t ranks = all_.size() / mine_.size();
    const std::size_t most = place_ > 0 ? place_ & (~place_ + 1) : std::bit_ceil(ranks);
    below_ = std::min(most, ranks - place_);
    std::ranges::copy(mine_, blocks(place_, 1).begin());
    for (std::size_t bit = 1; bit < below_; bit *= 2) {
        const auto from = blocks(place_ + bit, std::min(bit, below_ - bit));
        auto started = note(transport.receive(beside(topology, place_ + bit), kGathering, from));
        if (!started) return started;
    }
    return {};
}

Result<void> NodeGather::give_parent(Transport& transport) {
    if (place_ == 0) return {};
    const std::span<const std::byte> given = blocks(place_, below_);
    return note(transport.send(parent_of(transport.topology(), place_), kGathering, given));
}

/// Receives all blocks from the parent. Starts after this rank's own blocks are sent, because the
/// result overwrites them.
Result<void> NodeGather::hear_parent(Transport& transport) {
    if (place_ == 0) return {};
    return note(transport.receive(parent_of(transport.topology(), place_), kGathering, all_));
}

Result<void> NodeGather::tell_children(Transport& transport) {
    const std::span<const std::byte> all = all_;
    for (std::size_t bit = std::bit_ceil(below_) / 2; bit > 0; bit /= 2) {
        auto started =
            note(transport.send(beside(transport.topology(), place_ + bit), kGathering, all));
        if (!started) return started;
    }
    return {};
}

Result<void> NodeGather::note(const Result<Ticket>& started) {
    if (!started) return started.error();
    waits_for_.push_back(*started);
    return {};
}

std::span<std::byte> NodeGather::blocks(std::size_t first, std::size_t count) const {
    return all_.subspan(first * mine_.size(), count * mine_.size());
}

}  // namespace oratorio
