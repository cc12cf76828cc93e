// SPDX-License-Identifier: BSD-3-Clause
// Ordered accesses with the shared file pointer (MPI-4.1, 14.4.4): where each rank's data begins,
// and small writes that are made in the same step. Private to src/file.
#pragma once

#include <functional>
#include <optional>

#include "comm/transport.hpp"
#include "engine/run.hpp"
#include "file/view.hpp"

namespace oratorio {

/// Where a rank's data begins in an ordered access.
struct OrderedPlace {
    Offset start = 0;              ///< where the data begins, in etypes
    std::optional<Outcome> moved;  ///< set if the data was written in the same step
};

/// Writes contiguous data of all ranks at an offset of the file.
using WriteAll = std::function<Transferred(Offset, std::span<const iovec>)>;

/// Collective. Moves the shared file pointer by the etypes of all ranks, and returns where this
/// rank's data begins. If the ranks share memory, and each of them contributes a little data
/// (`brings`) through a view with the same displacement and etype size, the last rank to arrive
/// writes all of it with `write`. REQUIRES: if `brings`, the access is a write that wasn't refused,
/// and is empty or one piece of the file wherever it begins.
Result<OrderedPlace> claim_in_order(Transport& ranks, const View& view, const Access& access,
                                    Offset etypes, bool brings, const WriteAll& write);

}  // namespace oratorio
