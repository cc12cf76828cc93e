// SPDX-License-Identifier: BSD-3-Clause
// UnsyncedWrites: what ranks wrote for each other since all of them last synced, and which failed
// writes some ranks may not have heard of. Decides whether a sync needs all ranks. Private to
// src/file.
#pragma once

#include "engine/run_context.hpp"

namespace oratorio {

class UnsyncedWrites {
  public:
    /// Records a collective write. `sparse`: ranks with no data in common may not hear of a
    /// failure.
    void note(bool sparse) {
        together_ = true;
        sparse_ = sparse_ || sparse;
    }
    /// Returns true if other ranks may have written data of this rank. Equal on all ranks.
    [[nodiscard]] bool any_together() const { return together_; }
    /// Returns true if some ranks may not have heard that a write failed. Equal on all ranks.
    [[nodiscard]] bool any_sparse() const { return sparse_; }
    /// Called when all ranks have flushed together.
    void flushed_together() { together_ = false; }

    /// Returns the list to which runs add the failures that this rank has heard of.
    [[nodiscard]] UndeliveredErrors& undelivered() { return undelivered_; }
    /// Returns the failure of a sparse write that this rank has heard of, unless all ranks have
    /// heard of the same ones: then there is nothing to report. Collective if any_sparse(); forgets
    /// all failures and sparse writes.
    [[nodiscard]] Error take_undelivered(Transport& ranks);

  private:
    bool together_ = false;
    bool sparse_ = false;
    UndeliveredErrors undelivered_;
};

}  // namespace oratorio
