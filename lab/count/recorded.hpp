// SPDX-License-Identifier: BSD-3-Clause
// Recorded: a collective access from a trace, read from a file of numbers that
// lab/oratorio_lab/trace/accesses.py has written.
#pragma once

#include <string>
#include <vector>

#include "type/shape.hpp"

namespace oratorio::count {

class Recorded {
  public:
    /// Reads the first access of the file. Throws std::runtime_error, with a sentence for the user,
    /// if the file is incomplete or is for another number of ranks.
    Recorded(const std::string& path, int ranks);

    [[nodiscard]] static bool is_one(const std::string& path);

    [[nodiscard]] const Layout& layout_of(Rank rank) const {
        return layouts_[static_cast<std::size_t>(rank)];
    }

  private:
    std::vector<Layout> layouts_;
};

/// Returns bytes [from, from + bytes) of a view's data as a layout of their own. The layout has at
/// most as many parts as the view has tiles in that range, plus the pieces of the tiles that the
/// range cuts.
[[nodiscard]] Layout slice_of(const Layout& view, Bytes from, Bytes bytes);

}  // namespace oratorio::count
