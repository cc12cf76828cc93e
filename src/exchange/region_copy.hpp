// SPDX-License-Identifier: BSD-3-Clause
// RegionCopy: one rank's own data of one region, moved between its memory and the region's buffer.
// What a rank does in the exchanges without messages.
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

    /// Moves the rank's data in `region` (writes: memory to buffer, and marks it in `given` if that
    /// isn't null). Reads stop at `valid_until`. Gives the bytes moved.
    Bytes copy(const Region& region, std::byte* buffer, std::byte* given, Offset valid_until);

  protected:
    /// Moves the rank's data in `extent`. `base` is where the file's offset 0 would lie.
    virtual Bytes move(Extent extent, std::byte* base) = 0;
    /// Marks it; `base` is where the mask of offset 0 would lie.
    virtual void mark(Extent extent, std::byte* base) = 0;
    [[nodiscard]] bool reading() const { return reading_; }

  private:
    bool reading_;
    Stats& stats_;
};

/// The one that the plan's method wants.
std::unique_ptr<RegionCopy> make_region_copy(const Plan& plan, const Access& access, Stats& stats);
/// By datatype iterators: walks the file layout and the memory layout together (Hastings &
/// Choudhary 2006, "dynamic offset/length generation").
std::unique_ptr<RegionCopy> make_cursor_copy(const Access& access, Direction direction,
                                             Stats& stats);
/// By lists of all pieces, made at once (the same paper's "flattened datatypes"). Memory grows with
/// the number of pieces.
std::unique_ptr<RegionCopy> make_list_copy(const Access& access, Direction direction, Stats& stats);

}  // namespace oratorio
