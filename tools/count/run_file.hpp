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
    /// A rank has the data of equally many processes that follow one another. Throws
    /// std::runtime_error, with a sentence for the user, where the file isn't complete or `ranks`
    /// don't divide its processes.
    RunFile(const std::string& path, int ranks);

    [[nodiscard]] const Layout& layout_of(Rank rank) const {
        return layouts_[static_cast<std::size_t>(rank)];
    }

  private:
    std::vector<Layout> layouts_;
};

}  // namespace oratorio::count
