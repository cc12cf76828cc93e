// SPDX-License-Identifier: BSD-3-Clause
// RegionWriter: stores what was given of a region, and leaves every other byte of the file alone.
// Few pieces are written one by one. Where there are many it reads the region, fills the pieces in
// and writes it back, while it holds the range against all others: nobody's write to a byte between
// is lost. docs/decisions/0002-holes-and-locks.md.
#pragma once

#include <span>
#include <vector>

#include "exchange/given.hpp"
#include "plan/plan.hpp"
#include "run/run_context.hpp"
#include "store/transfer.hpp"

namespace oratorio {

class RegionWriter {
  public:
    /// Memory that it reads into.
    static constexpr Bytes scratch_bytes = 64 << 10;

    /// `plan` and `scratch` outlive it. `atomic` accesses hold their range already.
    RegionWriter(const RunContext& context, const Plan& plan, std::span<std::byte> scratch);

    struct Stored {
        Offset until = INT64_MAX;  ///< what was given before this offset is stored
        Error error;
    };
    /// Done when it returns. Waits for storage and for locks, never for another rank of ours.
    Stored write(const Region& region, const RoundBuffer& buffer);

  private:
    /// Bytes of the file, and where they lie in the round's buffer.
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

    RunContext context_;
    const Plan& plan_;
    std::span<std::byte> scratch_;
    Transfer transfer_;
};

}  // namespace oratorio
