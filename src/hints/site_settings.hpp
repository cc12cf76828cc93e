// SPDX-License-Identifier: BSD-3-Clause
// Translates environment variables of other MPI-IO implementations, so that the settings of a site
// keep their meaning. One table says how each variable is handled; docs/user/environment.md has the
// same table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hints/hints.hpp"

namespace oratorio {

/// An environment variable of the process, with its value.
struct EnvironmentVariable {
    std::string_view name;
    std::string_view value;
};

/// What the variables of other implementations request.
struct SiteSettings {
    std::vector<SiteHint> hints;
    bool print_hints = false;  ///< each open prints the effective hints
    bool summary = false;      ///< each close prints a summary of all ranks
    /// A sentence for each variable that has no effect or whose value isn't understood.
    std::vector<std::string> remarks;
};

/// How a variable is handled. `read_elsewhere` variables give several hints, so bind/process.cpp
/// reads their text and passes it to merge_hints().
enum class SiteRule {
    read_elsewhere,
    unused,
    number,        ///< the value of the hint `ours`; 0 and -1 set nothing
    size,          ///< like `number`, but the value may have a unit such as M
    off_switch,    ///< false sets the hint `ours` to disable; true sets nothing
    file_system,   ///< "nfs" and "ufs" choose the store
    collective,    ///< component of Open MPI's collective I/O; switches collective buffering
    prints_hints,  ///< turns the printing of hints on or off
    summarizes     ///< turns the summary at close on or off
};

struct SiteVariable {
    std::string_view name;  ///< a "*" at its end matches any characters
    std::string_view from;  ///< the implementation that defines it
    SiteRule rule;
    std::string_view ours;    ///< the hints or variables of Oratorio for this purpose; may be ""
    std::string_view effect;  ///< text for users: the effect, or why the variable is unused
};

/// Returns the table of the variables of other implementations that Oratorio knows. If several rows
/// match a variable's name, the first one applies.
[[nodiscard]] std::span<const SiteVariable> site_variables();
/// Returns what these variables request, with the hints in the order of the table: a later hint is
/// stronger. Ignores variables that match no row. Pure.
[[nodiscard]] SiteSettings read_site_settings(std::span<const EnvironmentVariable> variables);

/// Returns the hints that the first matching pattern of MPICH_MPIIO_HINTS
/// ("pattern:key=value:...,pattern2:...") has for the path. A value between two '#' may contain
/// commas and colons. Pure.
[[nodiscard]] HintMap mpich_hints(std::string_view text, std::string_view path);
/// Returns a sentence for each part of MPICH_MPIIO_HINTS that is ignored because it is malformed.
[[nodiscard]] std::vector<std::string> malformed_mpich_hints(std::string_view text);

}  // namespace oratorio
