// SPDX-License-Identifier: BSD-3-Clause
// The table of learned times as text: what rank 0 sends to the others at open and keeps for later
// jobs. It has these lines of words:
//
//     oratorio-learned 2
//     access DIRECTION RANKS RANKS_WITH_DATA NODES QUARTERS PIECE MEMORY_PIECE DENSITY
//         OVERLAP FACTS FILE_SYSTEM OPTIONS ACCESSES TOTAL EXCESS   (one line)
//     arm METHOD AGGREGATORS SLOTS DOMAINS ESTIMATE WAITING IN_USE SECONDS...
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/learning.hpp"

namespace oratorio {

/// Formats the table. Times above 10^9 seconds, which wrong constants of the cost model can give,
/// become 10^9 seconds.
[[nodiscard]] std::string to_text(const LearnedTimes& learned);
/// Returns the part of the table that is about accesses of `ranks` ranks.
[[nodiscard]] LearnedTimes for_ranks(const LearnedTimes& learned, int ranks);
/// Parses the text of to_text(). Returns nothing if the text is of another version or malformed.
/// Leaves out arms of methods that this version doesn't have, and arms beyond
/// KindTimes::kArmsKept.
[[nodiscard]] std::optional<LearnedTimes> parse_learned(std::string_view text);

}  // namespace oratorio
