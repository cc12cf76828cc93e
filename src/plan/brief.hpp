// SPDX-License-Identifier: BSD-3-Clause
// The short explanation of a plan, for people: the method and why, how the access is done, the best
// alternatives, and what would make it faster. The longer explanation is explain() in
// plan.hpp.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace oratorio {

/// Maximum number of alternatives in a short explanation.
inline constexpr std::size_t kAlternatives = 3;

/// Returns the rows of the short explanation, without a heading. At most 10 lines. Deterministic.
[[nodiscard]] std::string explain_briefly(const Plan& plan);

/// Returns the candidates that the method of the plan competes with: those with the lowest
/// estimates, then those that do not apply; at most kAlternatives. Leaves out each candidate with
/// an estimate within 1 % of that of the plan's method or of a candidate returned before it.
[[nodiscard]] std::vector<Candidate> alternatives(const Plan& plan);

/// Returns one line, without a full stop, about what would make an access like this one faster,
/// judging by its plan. Never returns "".
[[nodiscard]] std::string advice_on(const Plan& plan);

}  // namespace oratorio
