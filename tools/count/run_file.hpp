// SPDX-License-Identifier: BSD-3-Clause
// RunFile: the decomposition of an E3SM case among many processes, as tools/oratorio/bench_e3sm.py
// writes it for the benchmark. All variables of the case are written in one call.
#pragma once

#include <string>
#include <vector>

#include "type/shape.hpp"

namespace oratorio::count {

class RunFile {
  public:
    /// A rank has the data of equally many processes that follow one another; or where there are
    /// more ranks, equally many of them share the data of a process: the points of each of its maps
    /// in the order of its list. Throws std::runtime_error, with a sentence for the user, where the
    /// file isn't complete, or neither of the two numbers is a multiple of the other.
    RunFile(const std::string& path, int ranks);

    /// Made when it is asked for, as a million of them take gigabytes.
    [[nodiscard]] Layout layout_of(Rank rank) const;

  private:
    struct Map {
        Offset begin = 0;  ///< in the file
        Bytes variable = 0;
        std::int64_t variables = 0;
        Bytes element = 0;
        std::vector<Extent> runs;         ///< in elements, of one process after another
        std::vector<std::size_t> firsts;  ///< by process, and the end
    };
    [[nodiscard]] std::vector<Extent> runs_of(const Map& map, Rank rank) const;

    std::int64_t processes_ = 0;
    std::int64_t ranks_ = 0;
    Bytes size_ = 0;  ///< of the file
    std::vector<Map> maps_;
};

}  // namespace oratorio::count
