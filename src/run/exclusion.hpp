// SPDX-License-Identifier: BSD-3-Clause
// Exclusion: what one open file must do so that whoever reads a range, fills it and writes it back
// undoes nobody's write in its holes. docs/decisions/0002-holes-and-locks.md.
#pragma once

#include "store/range_lock.hpp"

namespace oratorio {

struct Exclusion {
    /// No other handle can be filling holes of the file: none had it open when this one was opened,
    /// and those that came later know of this one. Equal on all ranks.
    bool sole = true;
    /// This handle may fill holes where it is sole. False where other nodes may not see its locks,
    /// or where it may not know of all other handles. Equal on all ranks.
    bool fills = true;
    /// There are locks. Where there are none no handle fills holes. Equal on all ranks.
    bool lockable = true;
    /// Where its locks come from; null: from the file system. The file's.
    const JobLocksOfFile* job = nullptr;
    /// Independent accesses of this handle may fill holes (data sieving). Equal on all ranks.
    bool sieves = false;
    /// Collective writes that this rank has entered and not left: any rank may be filling holes.
    int collective_writes = 0;
    /// Or has left before the others (run/ending.hpp), and not entered another access with all of
    /// them since.
    bool left_first = false;

    [[nodiscard]] bool may_fill() const { return sole && fills; }
    /// A write of nothing but what was given must share the range with others that do the same.
    [[nodiscard]] bool shares(bool collective) const {
        const bool beside = left_first || (!collective && collective_writes > 0);
        return lockable && (!sole || (fills && (sieves || beside)));
    }
    [[nodiscard]] Result<RangeLock> take(Store& store, Extent range, bool exclusive) const {
        return RangeLock::take(store, job, range, exclusive);
    }
    /// The lock for such a write; an empty one where none is needed.
    [[nodiscard]] Result<RangeLock> share(Store& store, Extent range, bool collective) const {
        if (!shares(collective)) return RangeLock();
        return take(store, range, false);
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
