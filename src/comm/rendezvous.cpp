// SPDX-License-Identifier: BSD-3-Clause
#include "comm/rendezvous.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "comm/node_services.hpp"
#include "comm/transport.hpp"

namespace oratorio {
namespace {

Result<void> meet_by_messages(Transport& transport, std::span<std::byte> mine,
                              const RendezvousAction& action) {
    const Rank ranks = transport.topology().size;
    const Rank rank = transport.topology().rank;
    std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(ranks));
    if (auto told = gather(transport, mine, all); !told) return told.error();
    const Blocks blocks{all.data(), mine.size(), mine.size(), ranks};
    if (rank == 0) action(blocks);
    if (auto told = broadcast(transport, 0, all); !told) return told.error();
    std::ranges::copy(blocks.of(rank), mine.begin());
    return {};
}

}  // namespace

Result<void> rendezvous(Transport& transport, std::span<std::byte> mine,
                        const RendezvousAction& action) {
    NodeServices* const node = transport.node_services();
    const bool in_memory = node != nullptr && mine.size() <= node->rendezvous_max() &&
                           transport.lost().kind == ErrorKind::none;
    return in_memory ? node->rendezvous(mine, action) : meet_by_messages(transport, mine, action);
}

std::size_t rendezvous_max(Transport& transport) {
    const NodeServices* const node = transport.node_services();
    return node != nullptr ? node->rendezvous_max() : 0;
}

Result<std::int64_t> Reservation::value() const {
    if (failed == ErrorKind::none) return first;
    return Error::make(failed, "the shared file pointer can't be updated");
}

void reserve_for_all(Transport& transport, const Blocks& all) {
    std::vector<Reservation> reservations(static_cast<std::size_t>(all.ranks));
    std::int64_t sum = 0;
    Rank rank = 0;
    for (Reservation& reservation : reservations) {
        std::memcpy(&reservation, all.of(rank++).data(), sizeof reservation);
        reservation.first = sum;
        sum = wrapping_sum(sum, reservation.by);
    }
    const auto before = transport.counter().fetch_add(sum);
    rank = 0;
    for (Reservation& reservation : reservations) {
        if (before) reservation.first = wrapping_sum(reservation.first, *before);
        if (!before) reservation.failed = before.error().kind;
        std::memcpy(all.of(rank++).data(), &reservation, sizeof reservation);
    }
}

Result<std::int64_t> reserve(Transport& transport, std::int64_t by) {
    Reservation mine{.by = by};
    const auto told =
        rendezvous(transport, std::as_writable_bytes(std::span(&mine, 1)),
                   [&transport](const Blocks& all) { reserve_for_all(transport, all); });
    if (!told) return told.error();
    return mine.value();
}

}  // namespace oratorio
