// SPDX-License-Identifier: BSD-3-Clause
// The words that name workloads and hints for `oratorio simulate`.
#pragma once

#include <functional>
#include <string>

#include "count/pieces.hpp"
#include "plan/access.hpp"
#include "plan/options.hpp"

namespace oratorio::count {

/// Returns the layouts of `btio` or `s3d` at the paper's size, of `btio:N` or `s3d:N` with N points
/// along an edge, of a file of runs (run_file.hpp), or of a recorded access (recorded.hpp). Throws
/// std::runtime_error, with a sentence for the user.
[[nodiscard]] LayoutOf layouts_of(const std::string& workload, int ranks);

/// Returns a function that computes the summaries of a workload by a rule, for workloads where that
/// is much faster than making the layouts, and an empty function for others.
[[nodiscard]] std::function<AccessSummary(Rank rank)> summaries_by_rule(const std::string& workload,
                                                                        int ranks);

/// Returns true if the pieces of all ranks together are known to cover the file.
[[nodiscard]] bool leaves_no_holes(const std::string& workload);

/// Parses hints in the form of ORATORIO_HINTS and returns their options. The hints must name a
/// method with ranks that send packed messages. Throws std::runtime_error, with a sentence for the
/// user.
[[nodiscard]] PlanOptions options_of(const std::string& hints);

}  // namespace oratorio::count
