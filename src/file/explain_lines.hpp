// SPDX-License-Identifier: BSD-3-Clause
// Explanations as JSON, one object per line, for programs that read them. Each object also has the
// text for people. docs/user/stability.md lists the keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "file/explain_text.hpp"
#include "plan/plan.hpp"

namespace oratorio {

struct StripingAdvice;

/// The members of a JSON object after its kind and its text, as JSON; "" if there are none.
using JsonMembers = std::string;

/// The explanation of one way to access data of a file.
struct Explanation {
    std::string fingerprint{};  ///< equal for accesses that are done the same way
    std::string full{};         ///< text with everything, heading included
    std::string brief{};        ///< text without a heading
    std::string advice{};       ///< what would make the access faster; "" if unknown
    JsonMembers members{};      ///< the result of plan_members() or unplanned_members()
};

/// Returns one line: an object with the kind, the text and the other members. The kind says what
/// the text is about.
[[nodiscard]] std::string explain_line(std::string_view text, std::string_view kind,
                                       const JsonMembers& members);

/// Returns the members for an access that has a plan. `conversion` is the file's data
/// representation if data is converted, else "".
[[nodiscard]] JsonMembers plan_members(const Plan& plan, std::string_view conversion);

/// Returns the members for an access that needs no plan.
[[nodiscard]] JsonMembers unplanned_members(Direction direction, bool collective,
                                            std::string_view why);

/// Returns the members for an access that has ended.
[[nodiscard]] JsonMembers access_members(std::string_view path, int number, const ExplainedEnd& end,
                                         const Explanation& explanation);

/// Returns the members for the repetitions of an explained access: their number, bytes and time.
[[nodiscard]] JsonMembers repeated_members(std::string_view path, int number,
                                           const Repeated& again);

/// Returns the members for the counts and times of accesses; `sums` are over all ranks.
[[nodiscard]] JsonMembers account_members(std::string_view path, const Stats& sums);

/// Returns the members for the choice of locks. `sentence` says which locks are used, and why.
[[nodiscard]] JsonMembers locks_members(std::string_view path, std::string_view sentence);

/// Returns the members for a file with too few storage targets.
[[nodiscard]] JsonMembers striping_members(std::string_view path, const StripingAdvice& advice);

/// Returns the members of the last line: Oratorio's version, and how many accesses to how many
/// files it saw.
[[nodiscard]] JsonMembers end_members(std::string_view version, std::uint64_t accesses,
                                      std::uint64_t files);

}  // namespace oratorio
