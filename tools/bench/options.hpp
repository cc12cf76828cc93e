// SPDX-License-Identifier: BSD-3-Clause
// What the command line asks for.
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
    bool sync = false;       ///< count MPI_File_sync
    bool cold = false;       ///< drop the file's cached pages before each read
    bool malloc = false;     ///< the user's memory is where malloc puts it, not at a page's begin
};

/// Throws std::invalid_argument on words it doesn't know.
Options parse_options(int count, char** words);

}  // namespace bench
