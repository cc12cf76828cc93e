// SPDX-License-Identifier: BSD-3-Clause
// RegionCopy: copies one rank's own data of one region between its memory and the region's buffer.
// Used where a rank can access the buffer without messages.
#pragma once

#include <memory>

#include "exchange/exchange.hpp"

namespace oratorio {

class RegionCopy {
  public:
    RegionCopy(Direction direction, Stats& stats)
        : reading_(direction == Direction::read), stats_(stats) {}
    virtual ~RegionCopy() = default;
    RegionCopy(const RegionCopy&) = delete;
    RegionCopy& operator=(const RegionCopy&) = delete;

    /// Copies the rank's data in `region`. Writes go from memory to the buffer and mark the bytes
    /// in `mask` unless it is null; reads stop at `valid_until`. Returns the bytes copied.
    Bytes copy(const Region& region, std::byte* buffer, std::byte* mask, Offset valid_until);

  protected:
    /// Copies the rank's data in `extent`. `base` is where file offset 0 would lie.
    virtual Bytes move(Extent extent, std::byte* base) = 0;
    /// Marks the rank's data in `extent`; `base` is where the mask of file offset 0 would lie.
    virtual void mark(Extent extent, std::byte* base) = 0;
    [[nodiscard]] bool reading() const { return reading_; }

  private:
    bool reading_;
    Stats& stats_;
};

/// Makes the copy that the plan's method names.
std::unique_ptr<RegionCopy> make_region_copy(const Plan& plan, const Access& access, Stats& stats);
/// Copies by datatype iterators: walks the file layout and the memory layout together (Hastings &
/// Choudhary 2006, "dynamic offset/length generation").
std::unique_ptr<RegionCopy> make_cursor_copy(const Access& access, Direction direction,
                                             Stats& stats);
/// Copies by complete lists of pieces, made in advance (the same paper's "flattened datatypes").
/// Memory grows with the number of pieces.
std::unique_ptr<RegionCopy> make_list_copy(const Access& access, Direction direction, Stats& stats);

}  // namespace oratorio
