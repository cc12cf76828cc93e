// SPDX-License-Identifier: BSD-3-Clause
// The blocking forms of the transport's operations, and rendezvous() for ranks that share no
// memory.
#include "comm/transport.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace oratorio {
namespace {

Result<void> finish(Transport& transport, const Result<Ticket>& started) {
    if (!started) return started.error();
    auto completion = wait(transport, *started);
    if (!completion) return completion.error();
    return {};
}

}  // namespace

Result<void> Transport::rendezvous(std::span<std::byte> mine, const RendezvousAction& action) {
    const Rank ranks = topology().size;
    std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(ranks));
    if (auto told = oratorio::gather(*this, mine, all); !told) return told.error();
    const Blocks blocks{all.data(), mine.size(), mine.size(), ranks};
    if (topology().rank == 0) action(blocks);
    if (auto told = oratorio::broadcast(*this, 0, all); !told) return told.error();
    std::ranges::copy(blocks.of(topology().rank), mine.begin());
    return {};
}

Result<Completion> wait(Transport& transport, Ticket ticket) {
    for (;;) {
        auto completion = transport.test(ticket);
        if (!completion || completion->done) return completion;
        transport.idle();
    }
}

Result<void> reduce(Transport& transport, std::span<std::uint64_t> values, ReduceOp op) {
    return finish(transport, transport.reduce(values, op));
}

Result<void> broadcast(Transport& transport, Rank root, std::span<std::byte> data) {
    return finish(transport, transport.broadcast(root, data));
}

Result<void> gather(Transport& transport, std::span<const std::byte> mine,
                    std::span<std::byte> all) {
    return finish(transport, transport.gather(mine, all));
}

Result<std::int64_t> Reservation::value() const {
    if (failed == ErrorKind::none) return first;
    return Error::make(failed, "the number that the ranks share can't be moved");
}

void reserve_for_all(Transport& transport, const Blocks& all) {
    std::vector<Reservation> reservations(static_cast<std::size_t>(all.ranks));
    std::int64_t sum = 0;
    Rank rank = 0;
    for (Reservation& reservation : reservations) {
        std::memcpy(&reservation, all.of(rank++).data(), sizeof reservation);
        reservation.first = sum;
        sum += reservation.by;
    }
    const auto before = transport.fetch_add(sum);
    rank = 0;
    for (Reservation& reservation : reservations) {
        if (before) reservation.first += *before;
        if (!before) reservation.failed = before.error().kind;
        std::memcpy(all.of(rank++).data(), &reservation, sizeof reservation);
    }
}

Result<std::int64_t> reserve(Transport& transport, std::int64_t by) {
    Reservation mine{.by = by};
    const auto told =
        transport.rendezvous(std::as_writable_bytes(std::span(&mine, 1)),
                             [&transport](const Blocks& all) { reserve_for_all(transport, all); });
    if (!told) return told.error();
    return mine.value();
}

}  // namespace oratorio
