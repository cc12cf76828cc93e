// SPDX-License-Identifier: BSD-3-Clause
// Arm: one of the ways to do I/O that a run compares. Sample: the measurements of one pass of an
// arm.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "move_list.hpp"
#include "pattern.hpp"

namespace bench {

/// The name selects the arm. `raw` is contiguous POSIX I/O, and `raw_direct` the same without the
/// page cache. `by_hand` is two-phase I/O as users write it without MPI-IO (by_hand.hpp). `bare`,
/// `bare_avx2` and `bare_avx512` are two-phase I/O by a bare program (bare.hpp). A name that begins
/// with `host` is the host MPI's own MPI-IO. Any other name is a method of Oratorio, or METHOD@WORD
/// for a further arm with that method and other hints.
struct Arm {
    std::string name;
    std::map<std::string, std::string> hints;
    int passes_ahead = 0;  ///< unmeasured passes before those of all arms

    bool raw() const { return name == "raw" || direct(); }
    bool direct() const { return name == "raw_direct"; }
    bool by_hand() const { return name == "by_hand"; }
    /// Returns the instructions of an arm whose name begins with `bare`; nothing for other arms.
    std::optional<Instructions> bare() const {
        if (name == "bare") return Instructions::plain;
        if (name == "bare_avx2") return Instructions::avx2;
        if (name == "bare_avx512") return Instructions::avx512;
        return std::nullopt;
    }
    /// Returns the value to set for the hint `oratorio_method`.
    std::string method() const {
        return name.rfind("host", 0) == 0 ? "host" : name.substr(0, name.find('@'));
    }
};

/// The measurements of one pass. Memory peaks, and the times of open and close, are the maximum
/// over the ranks.
struct Sample {
    double open_s = 0;            ///< time to open the file and set the views
    double call_s = 0;            ///< time of the calls, and of the sync if requested
    double close_s = 0;           ///< time to close the file
    std::uint64_t call_peak = 0;  ///< most memory that the calls added, in bytes
    /// Most memory added from the open to the end of the calls, in bytes.
    std::uint64_t total_peak = 0;
    bool counted = true;  ///< true if the status reported as many bytes as requested
    /// True if a write did not change the bytes between the pieces of the file.
    bool holes_kept = true;
    std::string error;      ///< empty when every call succeeded
    std::string served_as;  ///< value of the hint `oratorio_method` that the open file reports
    std::string account;    ///< text of this rank's Account; rank 0 reports it
};

/// Collective. Moves the access once. The sample is the same on all ranks, except for `account`.
Sample run_pass(const Arm& arm, Direction direction, const std::string& path, const Access& access,
                bool sync, Buffer& buffer, MPI_Comm comm);

}  // namespace bench
