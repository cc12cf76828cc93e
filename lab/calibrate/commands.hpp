// SPDX-License-Identifier: BSD-3-Clause
// The commands of oratorio_calibrate(), which each flavour library exports (messages.cpp), and
// which cli/oratorio/calibrate/child.py calls.
//   measure FOLDER [--quick]  prints the lines of session.hpp
//   place FOLDER              prints the machine and the file system, as cost files name them
//   costs FILE_SYSTEM         reads costs from stdin, and prints all constants of that file system
//   messages BYTES REPEATS    prints lines as `measure` does; all ranks run it after MPI_Init
//   latencies TURNS           prints the lines of latencies.hpp; all ranks run it after MPI_Init
#pragma once

#include <string>
#include <vector>

namespace oratorio::calibrate {

/// Runs a command that needs no MPI. Returns 0, or another exit code after a message on stderr.
int run_command(const std::vector<std::string>& words);

}  // namespace oratorio::calibrate
