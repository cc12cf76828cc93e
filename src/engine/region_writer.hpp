// SPDX-License-Identifier: BSD-3-Clause
// RegionWriter: stores the bytes of a region that the write mask names, and leaves every other byte
// of the file alone. It writes few pieces one by one. For many pieces it does data sieving: under
// an exclusive lock it reads the region, merges the pieces and writes it back (read-modify-write),
// so no write to the bytes in between is lost. docs/internals/decisions/holes-and-locks.md.
#pragma once

#include <span>
#include <vector>

#include "engine/run_context.hpp"
#include "exchange/write_mask.hpp"
#include "plan/plan.hpp"
#include "store/transfer.hpp"

namespace oratorio {

class RegionWriter {
  public:
    /// Size of `scratch`, the buffer for the file's bytes while holes are filled.
    static constexpr Bytes scratch_bytes = 64 << 10;

    /// `plan` and `scratch` outlive it. For an atomic access it takes no locks, because the run
    /// already holds one on the whole range.
    RegionWriter(const WorkContext& context, const Plan& plan, std::span<std::byte> scratch);

    struct Stored {
        Offset until = INT64_MAX;  ///< written bytes before this offset are stored
        Error error;
    };
    /// Stores the region's written bytes before it returns. Waits for the storage and for locks,
    /// never for another rank of this access. REQUIRES: all ranks have entered the access
    /// (engine/entry_tracker.hpp). This rank holds no range lock, unless the access is atomic.
    Stored write(const Region& region, const RoundBuffer& buffer);

  private:
    /// A stretch of the file, and its offset in the round's buffer.
    struct Piece {
        Extent file;
        Bytes at = 0;
    };
    [[nodiscard]] std::vector<Piece> extents_given(const Region& region,
                                                   std::span<const std::byte> given) const;
    [[nodiscard]] std::vector<Piece> pieces_given(const Piece& whole,
                                                  std::span<const std::byte> given, Bytes& from,
                                                  std::size_t most) const;
    Stored write_cheaply(const Piece& whole, const RoundBuffer& buffer);
    Stored write_by_pieces(const Piece& whole, const RoundBuffer& buffer);
    Stored write_pieces(const std::vector<Piece>& pieces, std::span<std::byte> data);
    Stored fill_and_write(const Piece& whole, const RoundBuffer& buffer);
    Error fill(const Piece& whole, const RoundBuffer& buffer);
    Stored move(const Piece& piece, std::span<std::byte> data);
    Transferred transfer(Direction direction, Offset offset, std::span<std::byte> memory);

    WorkContext context_;
    const Plan& plan_;
    std::span<std::byte> scratch_;
    Transfer transfer_;
};

}  // namespace oratorio
