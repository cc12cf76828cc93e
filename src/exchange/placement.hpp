// SPDX-License-Identifier: BSD-3-Clause
// Placement: the payload of a message and a collective buffer, by the message's run table. The side
// of an aggregator.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/message_memory.hpp"
#include "exchange/given.hpp"
#include "plan/domains.hpp"

namespace oratorio {

/// Payload -> collective buffer and its mask, as the run table says. False where a run leaves the
/// region or the payload: nothing outside them is touched.
[[nodiscard]] bool place_runs(std::span<const std::byte> table, std::span<const std::byte> payload,
                              const Region& region, const RoundBuffer& buffer);
/// Collective buffer -> payload; stops at `valid_until`. Returns the bytes of payload that are
/// there; nothing where a run leaves the region or the payload.
[[nodiscard]] std::optional<Bytes> fetch_runs(std::span<const std::byte> table,
                                              std::span<std::byte> payload, const Region& region,
                                              std::span<const std::byte> buffer,
                                              Offset valid_until);
/// Where the `payload` bytes of a table's runs lie in the collective buffer, in their order and as
/// far as they are before `valid_until`. `lists` holds the result. Nothing where a run leaves the
/// region or the payload, or where there are more pieces than a message may have.
[[nodiscard]] std::optional<PieceList> list_runs(std::span<const std::byte> table, Bytes payload,
                                                 const Region& region,
                                                 std::span<const std::byte> buffer,
                                                 Offset valid_until, std::span<std::byte> lists);
/// The bytes of a table's runs were given. The table was listed before.
void mark_runs(std::span<const std::byte> table, const Region& region, std::span<std::byte> given);

}  // namespace oratorio
