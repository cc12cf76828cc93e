// SPDX-License-Identifier: BSD-3-Clause
// ExplainLines: explanations as JSON, one object per line, for programs that read them. Each has
// the text for people, too. The keys are in docs/user/stability.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace oratorio {

/// The members of an object beside its kind and its text; "" where there are no more.
using JsonMembers = std::string;

/// Returns a line. The kind says what the text is about.
[[nodiscard]] std::string explain_line(std::string_view text, std::string_view kind,
                                       const JsonMembers& members);

/// Describes an access by a plan; `conversion` is "" or a data representation that the file has.
[[nodiscard]] JsonMembers plan_members(const Plan& plan, std::string_view conversion);

/// Describes an access that needs no plan.
[[nodiscard]] JsonMembers unplanned_members(Direction direction, bool collective,
                                            std::string_view why);

/// Says of which file an access is; `access` is from one of the functions above.
[[nodiscard]] JsonMembers access_members(std::string_view path, int number,
                                         const JsonMembers& access);

/// Counts how often an access was done again.
[[nodiscard]] JsonMembers repeated_members(std::string_view path, int number, int times);

/// Says which locks are used, and why.
[[nodiscard]] JsonMembers locks_members(std::string_view path, std::string_view sentence);

/// Says how many accesses to how many files Oratorio saw.
[[nodiscard]] JsonMembers end_members(std::string_view version, std::uint64_t accesses,
                                      std::uint64_t files);

}  // namespace oratorio
