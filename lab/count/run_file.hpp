// SPDX-License-Identifier: BSD-3-Clause
// RunFile: the decomposition of an E3SM case among many processes, as
// lab/oratorio_lab/bench/e3sm.py writes it for the benchmark. One call accesses all variables of
// the case.
#pragma once

#include <string>
#include <vector>

#include "type/shape.hpp"

namespace oratorio::count {

class RunFile {
  public:
    /// Reads the decomposition for `ranks` ranks. Each rank has the data of the same number
    /// of consecutive processes. If there are more ranks than processes, an equal number of ranks
    /// shares the data of each process, and each of them has an equal part of the points of each
    /// map, in the order of the process's runs.
    /// Throws std::runtime_error, with a sentence for the user, if the file isn't complete, or if
    /// neither of the two numbers is a multiple of the other.
    RunFile(const std::string& path, int ranks);

    /// Returns the layout of a rank. It is created on demand, because a million layouts take
    /// gigabytes.
    [[nodiscard]] Layout layout_of(Rank rank) const;

  private:
    struct Map {
        Offset begin = 0;  ///< offset of the first variable in the file
        Bytes variable = 0;
        std::int64_t variables = 0;
        Bytes element = 0;
        std::vector<Extent> runs;  ///< runs in elements, one process after another
        /// Index in `runs` of the first run of each process; then the number of runs.
        std::vector<std::size_t> firsts;
    };
    [[nodiscard]] std::vector<Extent> runs_of(const Map& map, Rank rank) const;

    std::int64_t processes_ = 0;
    std::int64_t ranks_ = 0;
    Bytes size_ = 0;  ///< size of the file
    std::vector<Map> maps_;
};

}  // namespace oratorio::count
