// SPDX-License-Identifier: BSD-3-Clause
#include "comm/shared_segment.hpp"

#include <algorithm>
#include <utility>

namespace oratorio {

std::int64_t ranks_beside(const Topology& topology, Rank rank) {
    return topology.ranks_of(topology.node(rank));
}

Rank first_beside(const Topology& topology, Rank rank) {
    return topology.rank_at({topology.node(rank), 0});
}

bool are_beside(const Topology& topology, Rank one, Rank other) {
    return topology.node(one) == topology.node(other);
}

Result<Step> SharedSegment::step(Transport& transport) {
    const Topology& topology = transport.topology();
    if (phase_ == Phase::ready) {
        told_.card = options_.card;
        error_ = create(topology);
        told_beside_.resize(static_cast<std::size_t>(ranks_beside(topology, topology.rank)));
        telling_ = NodeGather(std::as_bytes(std::span(&told_, 1)),
                              std::as_writable_bytes(std::span(told_beside_)));
        phase_ = Phase::naming;
    }
    if (phase_ == Phase::naming) {
        const auto named = telling_.step(transport);
        if (!named || *named != Step::done) return named;
        if (error_.kind == ErrorKind::none) error_ = attach(topology);
        agreement_ = Agreement(error_);
        phase_ = Phase::deciding;
    }
    if (phase_ == Phase::deciding) {
        const auto decided = agreement_.step(transport);
        if (!decided || *decided != Step::done) return decided;
        memory_.unlink();  // every rank that could attach has done so
        if (refused()) memory_ = {};
        const bool checks = options_.check && !refused();
        if (checks) checked_ = Agreement(options_.check(cards()));
        phase_ = checks ? Phase::checking : Phase::over;
    }
    if (phase_ == Phase::over) return Step::done;
    const auto decided = checked_.step(transport);
    if (!decided || *decided != Step::done) return decided;
    phase_ = Phase::over;
    return Step::done;
}

Result<void> SharedSegment::finish(Transport& transport) {
    for (;;) {
        const auto decided = step(transport);
        if (!decided) return decided.error();
        if (*decided == Step::done) return {};
        transport.idle();
    }
}

Error SharedSegment::create(const Topology& topology) {
    if (first_beside(topology, topology.rank) != topology.rank) return {};
    auto made = SharedMemory::create(options_.bytes);
    if (!made) return made.error();
    memory_ = std::move(*made);
    std::copy(memory_.name().begin(), memory_.name().end(), told_.name);
    if (options_.prepare) options_.prepare(memory_.span());
    return {};
}

/// Attaches to the memory of the node's first rank. Does nothing if that rank has no memory,
/// because it reports the error itself.
Error SharedSegment::attach(const Topology& topology) {
    const Told& maker = told_beside_.front();
    const bool first = first_beside(topology, topology.rank) == topology.rank;
    if (first || maker.name[0] == '\0') return {};
    auto attached = SharedMemory::attach(maker.name, options_.bytes);
    if (!attached) return attached.error();
    memory_ = std::move(*attached);
    return {};
}

std::vector<SharedSegment::Card> SharedSegment::cards() const {
    std::vector<Card> cards;
    cards.reserve(told_beside_.size());
    for (const Told& told : told_beside_) cards.push_back(told.card);
    return cards;
}

}  // namespace oratorio
