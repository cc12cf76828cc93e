// SPDX-License-Identifier: BSD-3-Clause
// Costs: the constants of the cost model, one row each in costs.def. A plain value, equal on all
// ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oratorio {

/// The constants, in nanoseconds (costs.def).
struct Costs {
#define COST(name, memory, disk, server, doc) double name = memory;
#include "plan/costs.def"
#undef COST
    bool operator==(const Costs&) const = default;
};

/// Where the calls on a file go: to a file system in memory, to another file system with a page
/// cache, or each to a server.
enum class Storage { memory, disk, server };
/// Returns the constants of a file system that was not calibrated.
[[nodiscard]] Costs built_in_costs(Storage storage);
/// Returns the constants for nodes that share one machine, where data between nodes doesn't use a
/// network.
[[nodiscard]] Costs on_one_machine(Costs costs);
/// Returns `costs` with the constants that `text` sets, in lines "name value"; # begins a comment.
/// Ignores malformed lines, unknown names, values below 0 or above 1e12, and zero where the
/// built-in constant isn't zero, and adds a warning for each ignored line.
[[nodiscard]] Costs parse_costs(std::string_view text, Costs costs,
                                std::vector<std::string>& warnings);
/// Returns the lines that parse_costs reads, with the meaning of each.
[[nodiscard]] std::string to_text(const Costs& costs);

}  // namespace oratorio
