// SPDX-License-Identifier: BSD-3-Clause
// CursorPair: the datatype iterators of one rank's file layout and memory layout, walked together
// over ranges of the file.
#pragma once

#include "plan/access.hpp"
#include "type/copy.hpp"

namespace oratorio {

class CursorPair {
  public:
    /// `file` says whether a write uses streaming stores. A read uses them if it has more bytes
    /// than a core's cache holds.
    CursorPair(const Access& access, Direction direction, Target file);

    /// Seeks to the rank's data in `extent`; returns the number of its bytes.
    Bytes enter(Extent extent);
    /// Returns the hull of the data that enter() found. REQUIRES: it wasn't copied yet.
    [[nodiscard]] Extent hull();
    /// Returns true if every page of that hull has some of the data. May also return false because
    /// of a hole of a page or more that is not aligned and so contains no whole page. REQUIRES: as
    /// hull().
    [[nodiscard]] bool in_every_page() const;
    /// Copies the first `bytes` of the data that enter() found between memory and file. `base` is
    /// where file offset 0 would lie. The function holds no resources, so a siglongjmp may abandon
    /// it (store/mapped.hpp).
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
    Bytes first_ = 0;  ///< enter() found the data positions [first_, last_)
    Bytes last_ = 0;
};

}  // namespace oratorio
