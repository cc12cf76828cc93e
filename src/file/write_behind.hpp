// SPDX-License-Identifier: BSD-3-Clause
// WriteBehind: small records that the ranks of a node append with the shared file pointer, gathered
// in memory that they share until they are worth a system call. Which rank writes them is chance.
// MPI lets written data wait for MPI_File_sync (MPI-4.1, 14.6.1); only a hint makes us use that
// (oratorio_shared_write_behind), since a record that waits is lost with the program, and what
// becomes of it is told late.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/shared_memory.hpp"
#include "base/transport.hpp"
#include "store/transfer.hpp"

namespace oratorio {

class WriteBehind {
  public:
    /// Writes one contiguous range of the file.
    using Write = std::function<Transferred(Offset, std::span<std::byte>)>;

    /// Collective. Null on all ranks where they share no memory.
    static Result<std::unique_ptr<WriteBehind>> make(Transport& transport, Bytes capacity);

    /// One rank's turn at the memory; the others wait meanwhile.
    class Turn {
      public:
        explicit Turn(WriteBehind& all);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        /// Makes room for so many bytes, by writing what is there. False when there is none for so
        /// many at all; an error is that of writing, and what wasn't written stays.
        Result<bool> make_room(Bytes bytes, const Write& write);
        /// Adds a record that lies at `offset` of the file and for which there is room. What is
        /// there already is written first unless the record follows it.
        Result<void> add(Offset offset, std::span<const std::byte> record, const Write& write);
        /// Writes what is there. After an error what wasn't written stays, for another attempt.
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
