// SPDX-License-Identifier: BSD-3-Clause
// Commands: what oratorio_calibrate(), which each flavour library exports (messages.cpp), does for
// cli/oratorio/calibrate/child.py.
//   measure FOLDER [--quick]  prints the lines of session.hpp
//   place FOLDER              prints the machine and the file system, as the library names costs
//   costs FILE_SYSTEM         reads a file of costs and prints all constants in force there
//   messages BYTES REPEATS    in each rank, between MPI_Init and MPI_Finalize: prints the same
//   lines
//                             as `measure`
#pragma once

#include <string>
#include <vector>

namespace oratorio::calibrate {

/// Runs a command that needs no MPI. Returns 0, or another exit code after a message on stderr.
int run_command(const std::vector<std::string>& words);

}  // namespace oratorio::calibrate
