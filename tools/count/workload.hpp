// SPDX-License-Identifier: BSD-3-Clause
// What `oratorio simulate` asks for, as its words are: workloads and hints.
#pragma once

#include <functional>
#include <string>

#include "count/pieces.hpp"
#include "plan/access.hpp"
#include "plan/options.hpp"

namespace oratorio::count {

/// Of `btio` or `s3d` in the paper's size, of `btio:N` or `s3d:N` with N points along an edge, or
/// of a file of runs (run_file.hpp) or of a recorded access (recorded.hpp). Throws
/// std::runtime_error, with a sentence for the user.
[[nodiscard]] LayoutOf layouts_of(const std::string& workload, int ranks);

/// What ranks tell of that, where a rule is much faster than making their layouts; else nothing.
[[nodiscard]] std::function<AccessSummary(Rank rank)> summaries_by_rule(const std::string& workload,
                                                                        int ranks);

/// Whether all its ranks' pieces together are known to be all of the file.
[[nodiscard]] bool leaves_no_holes(const std::string& workload);

/// Of hints as in ORATORIO_HINTS, which name a method whose ranks send packed messages. Throws
/// std::runtime_error, with a sentence for the user.
[[nodiscard]] PlanOptions options_of(const std::string& hints);

}  // namespace oratorio::count
