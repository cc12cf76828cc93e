// RegionCopy: one rank's own data of one region, moved between its memory and the region's buffer.
// What a rank does in the exchanges without messages.
#pragma once

#include <memory>

#include "exchange/exchange.hpp"

namespace oratorio {

class RegionCopy {
  public:
    virtual ~RegionCopy() = default;
    RegionCopy() = default;
    RegionCopy(const RegionCopy&) = delete;
    RegionCopy& operator=(const RegionCopy&) = delete;

    /// Moves the rank's data in `region` (writes: memory to buffer). Reads stop at `valid_until`.
    /// Says how many bytes, and, `with_hull`, between which offsets.
    virtual RoundContents copy(const Region& region, std::byte* buffer, Offset valid_until,
                               bool with_hull) = 0;
};

/// By datatype iterators: walks the file layout and the memory layout together (Hastings &
/// Choudhary 2006, "dynamic offset/length generation").
std::unique_ptr<RegionCopy> make_cursor_copy(const Access& access, Direction direction);
/// By lists of all pieces, made at once (the same paper's "flattened datatypes"). Memory grows with
/// the number of pieces.
std::unique_ptr<RegionCopy> make_list_copy(const Access& access, Direction direction);

}  // namespace oratorio
