// SPDX-License-Identifier: BSD-3-Clause
// Accesses of one contiguous piece of the file and a few pieces of memory. A rank may move the data
// of such an access at once, without a plan and without other ranks. Private to src/file.
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

/// Returns the offset in the file of `bytes` data bytes of a view, beginning at data position
/// `from`, if they are one contiguous piece of the file. Otherwise returns nothing, and may do so
/// if finding the piece would take too long. REQUIRES: bytes > 0.
[[nodiscard]] std::optional<Offset> place_of_one_piece(const Layout& file, Bytes from, Bytes bytes);

/// Reads or writes one contiguous range of the file. A write leaves no holes, so it needs at most a
/// shared lock on the range (LockPolicy::share()).
Transferred move_range(Store& store, Stats& stats, const LockPolicy& locks, Direction direction,
                       Offset offset, std::span<const iovec> memory);

}  // namespace oratorio
