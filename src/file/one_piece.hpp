// SPDX-License-Identifier: BSD-3-Clause
// An access of one contiguous piece of the file, moved at once by its rank alone: there is nothing
// to plan. Private to src/file.
#pragma once

#include <optional>
#include <span>

#include "engine/lock_policy.hpp"
#include "plan/access.hpp"
#include "stats/stats.hpp"
#include "store/transfer.hpp"

namespace oratorio {

/// Returns where the access lies in the file, if it is one contiguous piece there. May return
/// nothing for such a piece if looking for it would take too long. REQUIRES: the access has data,
/// in one piece of memory.
[[nodiscard]] std::optional<Offset> place_of_one_piece(const Access& access);

/// Moves one contiguous range of the file, from its beginning to its end. A write has no holes, and
/// takes a shared lock on the range if one is needed.
Transferred move_range(Store& store, Stats& stats, const LockPolicy& locks, Direction direction,
                       Offset offset, std::span<const iovec> memory);

}  // namespace oratorio
