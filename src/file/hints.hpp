// SPDX-License-Identifier: BSD-3-Clause
// Hints: the info keys Oratorio acts on, reports or accepts, from one table (hints.def).
// Values are 64-bit and parsed strictly: a malformed value of a known key is warned about once,
// with the value used instead; unknown keys are ignored as MPI wants (MPI-4.1, 14.2.8). Precedence,
// weakest first: defaults, system/ROMIO_HINTS file, MPICH_MPIIO_HINTS, ORATORIO_HINTS, the
// program's info. The root's values hold on all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/agreed.hpp"
#include "plan/options.hpp"

namespace oratorio {

using HintMap = std::map<std::string, std::string>;  ///< as given: key -> value text

// Values that choose, in the order of their names in hints.def.

/// How bytes reach the file.
enum class StoreChoice { automatic, posix, uring, thread, uncached, count };
/// Which locks exclude handles and nodes from each other: the file system's, or the job's.
enum class LockChoice { automatic, file, job, count };
/// What moves nonblocking and split accesses on.
enum class ProgressChoice { automatic, thread, calls, start, count };

struct Hints {
    PlanOptions plan;
    StoreChoice store = StoreChoice::automatic;
    ProgressChoice progress = ProgressChoice::automatic;
    LockChoice locks = LockChoice::automatic;
    int uring_depth = 16;
    int file_permissions = 0666;         ///< file_perm, octal
    bool no_independent_access = false;  ///< romio_no_indep_rw
    Bytes shared_write_behind = 0;       ///< 0: each record is written when its call returns
    bool synchronized_flush = false;
    std::int64_t striping_factor = 0;
    std::int64_t start_iodevice = -1;
    HintMap accepted;  ///< known keys that change nothing here, reported back as given
};

/// The most that a buffer may be where nothing is known of the machine.
inline constexpr Bytes kBufferMost = Bytes{1} << 40;

/// What one rank brings to where hints are agreed on.
struct GivenHints {
    HintMap map;
    Bytes buffer_most = kBufferMost;  ///< what its machine can give, see parse_hints

    bool operator==(const GivenHints&) const = default;
};

struct AgreedHints {
    GivenHints of_root;
    std::uint64_t differing = 0;  ///< ranks that brought another map
};

/// Texts that hints come from besides the program's info; read once by bind/ from the environment.
struct HintSources {
    std::string romio_hints_text;   ///< contents of the ROMIO_HINTS file ("key value" lines)
    std::string mpich_mpiio_hints;  ///< MPICH_MPIIO_HINTS ("pattern:key=value:key=value,...")
    std::string oratorio_method;    ///< ORATORIO_METHOD, a value of the hint of that name
    std::string
        oratorio_hints;  ///< ORATORIO_HINTS ("key=value;key=value" or "key=value,key=value")
};

/// Where a value came from, by key: "ORATORIO_HINTS", "the program's info" and so on.
using HintOrigins = std::map<std::string, std::string_view>;

/// All sources merged for `path`, weakest first. Pure.
[[nodiscard]] HintMap merge_hints(const HintSources& sources, const HintMap& info,
                                  std::string_view path);
/// A sentence for the user.
struct HintWarning {
    std::string key;
    std::string sentence;
    bool operator==(const HintWarning&) const = default;
};

struct ParsedHints {
    Hints hints;
    /// One per malformed value, and one where buffers would be larger than `buffer_most` and are
    /// made smaller.
    std::vector<HintWarning> warnings;
};

/// Pure. Of all keys that any source has.
[[nodiscard]] HintOrigins hint_origins(const HintSources& sources, const HintMap& info,
                                       std::string_view path);
/// Pure. Keys that aren't given stay as in `start`.
[[nodiscard]] ParsedHints parse_hints(const HintMap& given, const Hints& start = {},
                                      Bytes buffer_most = kBufferMost);
/// Effective values of the keys that were set or that Oratorio reports always (MPI_File_get_info).
[[nodiscard]] HintMap report_hints(const Hints& hints);
/// What a user is told of the hints that were given, a line each: the value in use, where it comes
/// from and what is allowed, or that it changes nothing.
[[nodiscard]] std::string explain_hints(const HintMap& given, const HintOrigins& origins,
                                        const Hints& in_use);
/// The warning's sentence, with where the value came from.
[[nodiscard]] std::string explain_warning(const HintWarning& warning, const HintOrigins& origins);
/// Collective: root's on all ranks. Where one can't read them it is an error on all.
Result<Agreed<AgreedHints>> agree_on_hints(Transport& transport, const GivenHints& mine);

/// As rank 0 sends them.
[[nodiscard]] std::string encode_hints(const HintMap& hints);
/// Nothing where the text ends inside of a key or a value.
[[nodiscard]] std::optional<HintMap> decode_hints(std::string_view text);

}  // namespace oratorio
