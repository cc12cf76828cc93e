// SPDX-License-Identifier: BSD-3-Clause
// WriteBehind: write-behind of small records that the ranks of a node append with the shared file
// pointer. The records are gathered in memory that the ranks share until they are worth a system
// call; any of the ranks may write them. MPI lets written data wait for MPI_File_sync (MPI-4.1,
// 14.6.1). Oratorio does so only if a hint asks for it (oratorio_shared_write_behind), because a
// waiting record is lost with the program, and a failure to write it is reported late.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "comm/transport.hpp"
#include "memory/shared_memory.hpp"
#include "store/transfer.hpp"

namespace oratorio {

class WriteBehind {
  public:
    /// Writes one contiguous range of the file.
    using Write = std::function<Transferred(Offset, std::span<std::byte>)>;

    /// Collective. Makes the memory for the records; returns null on all ranks if they can't share
    /// memory.
    static Result<std::unique_ptr<WriteBehind>> make(Transport& transport, Bytes capacity);

    /// One rank's turn: it holds the lock of the memory, and the other ranks wait.
    class Turn {
      public:
        explicit Turn(WriteBehind& all);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        /// Makes room for a record of `bytes` bytes, if necessary by writing the gathered records.
        /// Returns false if the record doesn't fit even in the empty memory. Errors are those of
        /// writing; records that weren't written stay.
        Result<bool> make_room(Bytes bytes, const Write& write);
        /// Adds a record that lies at `offset` of the file. Writes the gathered records first
        /// unless the new record follows them in the file. REQUIRES: make_room() returned true for
        /// the record.
        Result<void> add(Offset offset, std::span<const std::byte> record, const Write& write);
        /// Writes the gathered records. After an error, records that weren't written stay for
        /// another attempt.
        Result<void> write_all(const Write& write);

      private:
        WriteBehind& all_;
    };

  private:
    struct Head;
    explicit WriteBehind(SharedMemory memory) : memory_(std::move(memory)) {}
    [[nodiscard]] Head& head() const;
    [[nodiscard]] std::span<std::byte> room() const;

    SharedMemory memory_;
};

}  // namespace oratorio
