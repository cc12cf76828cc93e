// SPDX-License-Identifier: BSD-3-Clause
// UnsyncedWrites: whether ranks may have written data for each other since all ranks last flushed
// together, and which failed writes some ranks may not know of. In either case a sync may need all
// ranks (State::flushes_together()). Private to src/file.
#pragma once

#include "engine/run_context.hpp"

namespace oratorio {

class UnsyncedWrites {
  public:
    /// Records a collective write. `sparse`: only the ranks that share data with a failed part are
    /// sure to learn of the failure.
    void note(bool sparse) {
        together_ = true;
        sparse_ = sparse_ || sparse;
    }
    /// Returns true if other ranks may have written data of this rank since the last
    /// flushed_together(). Equal on all ranks.
    [[nodiscard]] bool any_together() const { return together_; }
    /// Returns true if a write may have failed without all ranks knowing. Equal on all ranks.
    [[nodiscard]] bool any_sparse() const { return sparse_; }
    /// Called when all ranks have flushed together.
    void flushed_together() { together_ = false; }

    /// Returns the summary to which runs add the failed sparse writes that this rank knows of.
    [[nodiscard]] UndeliveredErrors& undelivered() { return undelivered_; }
    /// Returns the first failed sparse write that this rank knows of, but no error if all ranks
    /// know of the same failures, because the writes have then reported them everywhere. Collective
    /// if any_sparse(). Forgets all failures and sparse writes.
    [[nodiscard]] Error take_undelivered(Transport& ranks);

  private:
    bool together_ = false;
    bool sparse_ = false;
    UndeliveredErrors undelivered_;
};

}  // namespace oratorio
