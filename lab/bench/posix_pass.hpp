// SPDX-License-Identifier: BSD-3-Clause
// The measurement of a pass without MPI-IO, which the arms `raw`, `by_hand` and `bare` share.
#pragma once

#include <functional>
#include <string>

#include "arm.hpp"

namespace bench {

/// How a pass opens its file, and whether a write ends with fsync.
struct PosixPass {
    Direction direction;
    std::string path;
    bool sync = false;
    bool direct = false;  ///< O_DIRECT
};

/// Collective. Returns true if `well` is true on all ranks.
bool all_agree(bool well, MPI_Comm comm);

/// Collective. Opens the file, measures `move` and the sync, and closes the file. `move` gets the
/// descriptor; if it fails, it returns false and sets errno.
Sample measure_posix(const PosixPass& pass, MPI_Comm comm, const std::function<bool(int)>& move);

}  // namespace bench
