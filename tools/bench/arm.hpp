// SPDX-License-Identifier: BSD-3-Clause
// One arm of the comparison, and one measured pass of it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pattern.hpp"

namespace bench {

/// `raw` is contiguous POSIX I/O, `raw_direct` the same past the page cache; `by_hand` is what
/// users write who do without MPI-IO (by_hand.hpp); names that begin with `host` are the host MPI's
/// own MPI-IO; any other name is a method of Oratorio, or METHOD@WORD, that method with hints of
/// its own.
struct Arm {
    std::string name;
    std::map<std::string, std::string> hints;

    bool raw() const { return name == "raw" || direct(); }
    bool direct() const { return name == "raw_direct"; }
    bool by_hand() const { return name == "by_hand"; }
    /// The value of the hint `oratorio_method`.
    std::string method() const {
        return name.rfind("host", 0) == 0 ? "host" : name.substr(0, name.find('@'));
    }
};

/// One pass. Peaks, and the times of open and close, are the maximum over the ranks.
struct Sample {
    double open_s = 0;             ///< open and set the views
    double call_s = 0;             ///< the collective calls, and the sync where asked for
    double close_s = 0;            ///< close
    std::uint64_t call_peak = 0;   ///< memory the call added at its highest point, in bytes
    std::uint64_t total_peak = 0;  ///< the same from before open to the end of the call
    bool counted = true;           ///< the status said as many bytes as were asked for
    bool holes_kept = true;        ///< a write left the bytes between the pieces of the file alone
    std::string error;             ///< empty when every call succeeded
    std::string served_as;         ///< the hint `oratorio_method` as the open file gives it back
    std::string account;           ///< rank 0's: see Account
};

/// Moves the access once. Collective; the sample is the same on all ranks.
Sample run_pass(const Arm& arm, Direction direction, const std::string& path, const Access& access,
                bool sync, Buffer& buffer, MPI_Comm comm);

}  // namespace bench
