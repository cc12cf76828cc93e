// SPDX-License-Identifier: BSD-3-Clause
// Launcher: detects processes that another MPI's launcher has started.
#pragma once

#include <string>

namespace oratorio::bind {

/// Returns a sentence for the user if this process is alone in MPI_COMM_WORLD, although its
/// launcher has started several processes, of which this is number 0. Returns "" otherwise.
[[nodiscard]] std::string wrong_launcher();

}  // namespace oratorio::bind
