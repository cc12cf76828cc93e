// SPDX-License-Identifier: BSD-3-Clause
// Copies between the payload of a message and a collective buffer, on the aggregator's side; for
// zero-copy messages, lists where the payload lies in the buffer. The message's run table says
// where the bytes lie in the file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "comm/message_memory.hpp"
#include "exchange/write_mask.hpp"
#include "plan/domains.hpp"

namespace oratorio {

/// Copies the payload to the collective buffer and marks it in the write mask. Returns false if a
/// run leaves the region or the payload; nothing outside them is touched.
[[nodiscard]] bool place_runs(std::span<const std::byte> table, std::span<const std::byte> payload,
                              const Region& region, const RoundBuffer& buffer);
/// Copies from the collective buffer to the payload, up to file offset `valid_until`. Returns the
/// bytes copied, or nothing if a run leaves the region or the payload.
[[nodiscard]] std::optional<Bytes> fetch_runs(std::span<const std::byte> table,
                                              std::span<std::byte> payload, const Region& region,
                                              std::span<const std::byte> buffer,
                                              Offset valid_until);
/// Lists where the `payload` bytes of a table's runs lie in the collective buffer, in their order,
/// up to file offset `valid_until`. `lists` holds the result. Returns nothing if a run leaves the
/// region or the payload, or if there are more pieces than a message may have.
[[nodiscard]] std::optional<PieceList> list_runs(std::span<const std::byte> table, Bytes payload,
                                                 const Region& region,
                                                 std::span<const std::byte> buffer,
                                                 Offset valid_until, std::span<std::byte> lists);
/// Marks the bytes of a table's runs as written. REQUIRES: list_runs accepted the table.
void mark_runs(std::span<const std::byte> table, const Region& region, std::span<std::byte> mask);

}  // namespace oratorio
