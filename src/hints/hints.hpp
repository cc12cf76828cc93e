// SPDX-License-Identifier: BSD-3-Clause
// Hints: the info keys that Oratorio acts on, reports or accepts, from one table (hints.def).
// Numbers are parsed as 64-bit ones. A malformed or out-of-range value of a known key causes one
// warning, which names the value used instead. Unknown keys are ignored, as MPI requires (MPI-4.1,
// 14.2.8), but cause a warning if they look misspelt. Precedence, weakest first: defaults, the file
// that ROMIO_HINTS names (/etc/romio-hints by default), variables of other implementations
// (site_settings.hpp), MPICH_MPIIO_HINTS, ORATORIO_METHOD and ORATORIO_LEARN, ORATORIO_HINTS, the
// program's info. Rank 0's values apply on all ranks.
#pragma once

#include <climits>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/agreed.hpp"
#include "plan/options.hpp"

namespace oratorio {

using HintMap = std::map<std::string, std::string>;  ///< key -> text of the value as given

// The choices: enums with values in the order of their names in hints.def.

/// How bytes get to and from the file.
enum class StoreChoice { automatic, posix, uring, thread, uncached, cached_reads, count };
/// Locks that keep handles and nodes from overwriting each other's data: the file system's or the
/// job's.
enum class LockChoice { automatic, file, job, count };
/// What advances nonblocking and split accesses.
enum class ProgressChoice { automatic, thread, calls, start, count };

/// Whether the method `auto` learns from the times of accesses: for this job and later ones, for
/// this job only, or not at all.
enum class LearnChoice { keep, job, off, count };

/// What Oratorio does about a new file with too few storage targets: it gives advice, or also gives
/// the file another layout at open (where that is possible), or does nothing.
enum class StripingChoice { advise, automatic, off, count };

struct Hints {
    PlanOptions plan;
    bool buffer_given = false;  ///< a hint set cb_buffer_size, so it isn't the method's default
    StoreChoice store = StoreChoice::automatic;
    ProgressChoice progress = ProgressChoice::automatic;
    LockChoice locks = LockChoice::automatic;
    LearnChoice learn = LearnChoice::keep;
    int uring_depth = 16;
    int file_permissions = 0666;         ///< file_perm, octal
    bool no_independent_access = false;  ///< romio_no_indep_rw
    Bytes shared_write_behind = 0;       ///< 0: each record is written before its call returns
    bool synchronized_flush = false;
    std::int64_t start_iodevice = -1;
    StripingChoice striping = StripingChoice::advise;
    HintMap accepted;  ///< known keys without a member here, to be reported
};

/// Maximum size of a buffer if nothing is known about the machine.
inline constexpr Bytes kBufferMost = Bytes{1} << 40;

/// One rank's contribution to the agreement on hints.
struct GivenHints {
    HintMap map;
    /// Maximum size of a buffer that the rank's machine can provide, see parse_hints().
    Bytes buffer_most = kBufferMost;
    std::string learned;  ///< rank 0, at open: the times of earlier jobs (plan/learning_text)

    bool operator==(const GivenHints&) const = default;
};

struct AgreedHints {
    GivenHints of_root;
    std::uint64_t differing = 0;  ///< number of ranks that gave other hints than rank 0
};

/// A hint from a variable of another implementation. `variable` is the name of the variable's row
/// in site_variables().
struct SiteHint {
    std::string_view variable;
    std::string key;
    std::string value;
    bool operator==(const SiteHint&) const = default;
};

/// Texts of hints from sources other than the program's info; bind/ reads them once, from the
/// environment and the file that ROMIO_HINTS names.
struct HintSources {
    std::string romio_hints_text;   ///< contents of the ROMIO_HINTS file ("key value" lines)
    std::string mpich_mpiio_hints;  ///< MPICH_MPIIO_HINTS ("pattern:key=value:key=value,...")
    std::vector<SiteHint> site_hints;
    std::string oratorio_method;  ///< ORATORIO_METHOD, a value of the hint oratorio_method
    std::string oratorio_learn;   ///< ORATORIO_LEARN, a value of the hint oratorio_learn
    std::string
        oratorio_hints;  ///< ORATORIO_HINTS ("key=value;key=value" or "key=value,key=value")
};

/// Where each key's value comes from: "ORATORIO_HINTS", "the program's info" and so on.
using HintOrigins = std::map<std::string, std::string_view>;

/// Merges all sources for `path`, weakest first. Pure.
[[nodiscard]] HintMap merge_hints(const HintSources& sources, const HintMap& info,
                                  std::string_view path);
/// A warning about a hint, for the user.
struct HintWarning {
    std::string key;
    std::string sentence;
    bool operator==(const HintWarning&) const = default;
};

struct ParsedHints {
    Hints hints;
    /// Warnings about misspelt keys, about malformed or out-of-range values, and about values that
    /// are reduced because of `buffer_most`.
    std::vector<HintWarning> warnings;
};

/// Returns the origins of all keys that any source has. Pure.
[[nodiscard]] HintOrigins hint_origins(const HintSources& sources, const HintMap& info,
                                       std::string_view path);
/// Parses the hints of a file that `ranks` ranks open. Lists may name only these ranks, and sizes
/// of memory may be at most `buffer_most`. Keys that aren't given keep their values in `start`,
/// except that a cb_buffer_size that no hint has set becomes the method's default. Pure.
[[nodiscard]] ParsedHints parse_hints(const HintMap& given, const Hints& start = {},
                                      Bytes buffer_most = kBufferMost, int ranks = INT_MAX);
/// Returns the values in use of the keys that were set or that Oratorio always reports
/// (MPI_File_get_info).
[[nodiscard]] HintMap report_hints(const Hints& hints);
/// Explains the given hints, one line each: the value in use, where it comes from and what is
/// allowed, or that it changes nothing.
[[nodiscard]] std::string explain_hints(const HintMap& given, const HintOrigins& origins,
                                        const Hints& in_use);
/// Returns the warning's sentence, with the origin of the value.
[[nodiscard]] std::string explain_warning(const HintWarning& warning, const HintOrigins& origins);
/// Collective. Returns rank 0's hints on all ranks; an error on all ranks if one of them can't read
/// the hints.
Result<Agreed<AgreedHints>> agree_on_hints(Transport& transport, const GivenHints& mine);

/// Encodes hints for the message that rank 0 sends.
[[nodiscard]] std::string encode_hints(const HintMap& hints);
/// Decodes a message of encode_hints(). Returns nothing if the text ends inside a key or a value.
[[nodiscard]] std::optional<HintMap> decode_hints(std::string_view text);

}  // namespace oratorio
