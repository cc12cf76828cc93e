// SPDX-License-Identifier: BSD-3-Clause
// Exclusion: what one open file must do so that whoever reads a range, fills it and writes it back
// undoes nobody's write in its holes. docs/decisions/0002-holes-and-locks.md.
#pragma once

#include "store/range_lock.hpp"

namespace oratorio {

struct Exclusion {
    /// No other handle had the file open when this one was opened; those that came later know of
    /// it. Only such a handle fills holes, and only others must expect it to. Equal on all ranks.
    bool sole = true;
    /// The file system has locks. Where it has none no handle fills holes. Equal on all ranks.
    bool lockable = true;
    /// Independent accesses of this handle may fill holes (data sieving). Equal on all ranks.
    bool sieves = false;
    /// Collective writes that this rank has entered and not left: any rank may be filling holes.
    int collective_writes = 0;
    /// Or has left before the others (run/ending.hpp), and not entered another access with all of
    /// them since.
    bool left_first = false;

    /// A write of nothing but what was given must share the range with others that do the same.
    [[nodiscard]] bool shares(bool collective) const {
        const bool beside = left_first || (!collective && collective_writes > 0);
        return lockable && (!sole || sieves || beside);
    }
    /// The lock for such a write; an empty one where none is needed.
    [[nodiscard]] Result<RangeLock> share(Store& store, Extent range, bool collective) const {
        if (!shares(collective)) return RangeLock();
        return RangeLock::take(store, range, false);
    }
};

/// From when a rank enters a collective write until it leaves.
class CollectiveWrite {
  public:
    explicit CollectiveWrite(Exclusion& exclusion) : exclusion_(exclusion) {
        ++exclusion_.collective_writes;
    }
    ~CollectiveWrite() { --exclusion_.collective_writes; }
    CollectiveWrite(const CollectiveWrite&) = delete;
    CollectiveWrite& operator=(const CollectiveWrite&) = delete;

  private:
    Exclusion& exclusion_;
};

}  // namespace oratorio
