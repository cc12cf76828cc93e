// SPDX-License-Identifier: BSD-3-Clause
// GatheredRecords: the records that ranks append independently with the shared file pointer,
// gathered in memory of the node before they are written (hint oratorio_shared_write_behind).
// Without that hint nothing is gathered. Private to src/file.
#pragma once

#include <memory>

#include "file/one_piece.hpp"
#include "file/user_messages.hpp"
#include "file/view.hpp"
#include "file/write_behind.hpp"

namespace oratorio {

class GatheredRecords {
  public:
    /// All arguments outlive the records. `store` is set before the first record.
    GatheredRecords(Transport& transport, const std::unique_ptr<Store>& store, Stats& stats,
                    const LockPolicy& locks)
        : transport_(transport), store_(store), stats_(stats), locks_(locks) {}

    /// Returns true if records are gathered. Equal on all ranks.
    [[nodiscard]] bool on() const { return memory_ != nullptr; }
    /// Collective. Sets the capacity of the memory for records; with 0 bytes, none are gathered. If
    /// the capacity changes, the gathered records are written first. If the ranks can't all share
    /// memory, warns the user, and records are written at once.
    Result<void> resize(Bytes capacity, UserMessages& messages);
    /// Moves the shared file pointer past a record, and adds the record to the gathered ones.
    /// Returns where the record begins, in etypes. Sets `gathered`, unless the record doesn't fit
    /// in the memory or lies past the largest file offset: the caller must then write or refuse it.
    /// The pointer stays if the gathered records can't be written to make room. REQUIRES: on();
    /// `record` is one piece of the file wherever it begins.
    Result<Offset> append(const Access& record, Offset etypes, const View& view, bool& gathered);
    /// Writes the records that the ranks of this node have gathered.
    Result<void> write();
    /// Collective. Does what write() does; returns the worst error of any rank.
    Result<void> write_together();

  private:
    [[nodiscard]] WriteBehind::Write writer();

    Transport& transport_;
    const std::unique_ptr<Store>& store_;
    Stats& stats_;
    const LockPolicy& locks_;
    Bytes capacity_ = 0;
    std::unique_ptr<WriteBehind> memory_;  ///< null: records are written at once
};

}  // namespace oratorio
