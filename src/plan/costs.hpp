// SPDX-License-Identifier: BSD-3-Clause
// Costs: constants of the cost model, one row each in costs.def. A plain value, equal on all ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oratorio {

/// Nanoseconds of one core.
struct Costs {
#define COST(name, memory, disk, doc) double name = memory;
#include "plan/costs.def"
#undef COST
    bool operator==(const Costs&) const = default;
};

/// Those of a file system that nobody has calibrated, by the name that file/path gives it.
[[nodiscard]] Costs built_in_costs(std::string_view file_system);
/// The same where nodes share a machine: what goes between them doesn't take a network.
[[nodiscard]] Costs on_one_machine(Costs costs);
/// Lines "name value", # begins a comment; names that aren't given keep what `costs` has. Malformed
/// lines, values below zero, and zero where none is built in, are left out and told in `warnings`.
[[nodiscard]] Costs parse_costs(std::string_view text, Costs costs,
                                std::vector<std::string>& warnings);
/// The lines that parse_costs reads, with what each means.
[[nodiscard]] std::string to_text(const Costs& costs);

}  // namespace oratorio
