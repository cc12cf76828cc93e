// SPDX-License-Identifier: BSD-3-Clause
// An access of one contiguous piece of the file and few of memory, moved at once by its rank alone:
// there is nothing to plan. Private to src/file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/lock_policy.hpp"
#include "plan/access.hpp"
#include "stats/stats.hpp"
#include "store/transfer.hpp"

namespace oratorio {

/// Maximum number of memory pieces of an access that is moved at once.
inline constexpr std::int64_t kMemoryPiecesAtOnce = 32;

/// Returns true if the memory of the access has at most kMemoryPiecesAtOnce pieces.
[[nodiscard]] bool has_few_memory_pieces(const Access& access);

/// The memory of an access, as a list for one storage call. REQUIRES: has_few_memory_pieces().
class MemoryPieces {
  public:
    explicit MemoryPieces(const Access& access);
    [[nodiscard]] std::span<const iovec> list() const { return std::span(pieces_).first(count_); }

  private:
    std::array<iovec, kMemoryPiecesAtOnce> pieces_;
    std::size_t count_ = 0;
};

/// Returns where the access lies in the file, if it is one contiguous piece there. May return
/// nothing for such a piece if looking for it would take too long. REQUIRES: the access has data.
[[nodiscard]] std::optional<Offset> place_of_one_piece(const Access& access);

/// Moves one contiguous range of the file, from its beginning to its end. A write has no holes, and
/// takes a shared lock on the range if one is needed.
Transferred move_range(Store& store, Stats& stats, const LockPolicy& locks, Direction direction,
                       Offset offset, std::span<const iovec> memory);

}  // namespace oratorio
