// SPDX-License-Identifier: BSD-3-Clause
// The options of the benchmark program's command line.
#pragma once

#include <string>
#include <vector>

#include "access.hpp"
#include "arm.hpp"

namespace bench {

struct Options {
    std::string workload;
    Params params;
    std::vector<Arm> arms;
    std::vector<Direction> directions{Direction::write, Direction::read};
    int repeats = 5;
    std::string dir = ".";
    std::string out;
    bool overwrite = false;  ///< write over an existing file
    bool sync = false;       ///< include MPI_File_sync in the time
    bool cold = false;       ///< drop the file's cached pages before each read
    /// Place the user's memory as malloc does, not at the start of a page.
    bool malloc = false;
};

/// Parses the words of the command line. Throws std::invalid_argument on an unknown option or a
/// missing value.
Options parse_options(int count, char** words);

}  // namespace bench
