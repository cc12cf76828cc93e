// SPDX-License-Identifier: BSD-3-Clause
// CursorPair: the datatype iterators of one rank's file and memory, walked together over ranges of
// the file.
#pragma once

#include "plan/access.hpp"
#include "type/copy.hpp"

namespace oratorio {

class CursorPair {
  public:
    /// `file`: what becomes of the file's side after a write. The user's memory is streamed to when
    /// it is more than a cache holds.
    CursorPair(const Access& access, Direction direction, Target file);

    /// Stands at the rank's data in `extent` and tells how many bytes that is.
    Bytes enter(Extent extent);
    /// From the first to the last byte of what was entered; only before it is copied.
    [[nodiscard]] Extent hull();
    /// Moves the first `bytes` of it between memory and file. `base` is where the file's offset 0
    /// would lie. Holds nothing that needs ending, so it may be abandoned (store/mapped.hpp).
    void copy(std::byte* base, Bytes bytes);

  private:
    bool reading_;
    Target target_;
    Bytes from_;
    Bytes to_;
    std::byte* user_;
    Cursor file_;
    Cursor end_;
    Cursor memory_;
    Bytes first_ = 0;  ///< data positions entered
    Bytes last_ = 0;
};

}  // namespace oratorio
