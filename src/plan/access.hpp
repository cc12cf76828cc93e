// SPDX-License-Identifier: BSD-3-Clause
// Access: the data that one rank wants to move. AccessSummary: the few numbers about it that all
// ranks learn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/direction.hpp"
#include "comm/agreed.hpp"
#include "type/cursor.hpp"

namespace oratorio {

/// A transfer between data bytes [from, from + memory.size()) of `file` and all data bytes of
/// `memory`, in data order.
struct Access {
    Direction direction = Direction::read;
    Layout file;
    Bytes from = 0;  ///< data position in `file`
    Layout memory;   ///< offsets relative to `buffer`
    std::byte* buffer = nullptr;
    Error refused;  ///< why this rank can't move data (bad argument, no file); it still serves the
                    ///< others
    bool goes_on = false;  ///< collective: more of this rank's data follows in another access

    /// Returns the number of data bytes that this rank moves, 0 if the access was refused.
    [[nodiscard]] Bytes bytes() const {
        return refused.kind == ErrorKind::none ? memory.size() : 0;
    }
    [[nodiscard]] bool has_one_memory_piece() const { return memory.is_one_run(); }
    /// Returns true if the file part is one contiguous piece, which begins at file.origin + from.
    [[nodiscard]] bool has_one_file_piece() const { return file.is_one_run(); }
    /// Returns true if both the memory and the file part are one contiguous piece.
    [[nodiscard]] bool is_one_piece() const {
        return has_one_memory_piece() && has_one_file_piece();
    }
};

/// Moves the cursor to the first data byte at or after `offset`, but not before data position
/// `from`, because an access may begin inside an extent. REQUIRES: the layout is monotonic.
void seek_within(Cursor& file, Offset offset, Bytes from);

/// Maximum size, in bytes, of the description of a layout that another rank walks.
inline constexpr Bytes kLayoutBytesMax = 512 << 10;

/// The numbers about a rank's access that all ranks learn; sent as bytes. A summary has only 48
/// bytes, because with a million ranks each additional byte costs a megabyte on every node.
struct AccessSummary {
    static constexpr std::int64_t kPiecesMost = UINT32_MAX;  ///< largest number of pieces reported
    static constexpr Bytes kPeriodMost = (Bytes{1} << 47) - 1;

    Extent hull;  ///< extent from the first to the last file byte; empty without data
    Bytes bytes = 0;
    std::uint64_t coverage = 0;       ///< writes: sum of the coverage hash over its pieces
    std::uint32_t pieces = 0;         ///< contiguous file pieces; estimated for a part of a layout
    std::uint32_t memory_pieces = 0;  ///< contiguous pieces of memory, estimated like `pieces`
    std::uint16_t flags = 0;          ///< AccessFlag bits
    /// The data consists of equal parts that lie this many bytes apart in the file and interleave
    /// in memory (for example the variables of a cell, which lie next to each other). 0 if the data
    /// has no such parts.
    Bytes period : 48 = 0;

    /// Returns the number of parts, 1 without a period. Each part lies in a period of its own, so
    /// the hull determines the number.
    [[nodiscard]] std::int64_t parts() const {
        return period == 0 ? 1 : (hull.length() + period - 1) / period;
    }
    bool operator==(const AccessSummary&) const = default;
};
static_assert(sizeof(AccessSummary) == 48);

enum AccessFlag : std::uint16_t {
    flag_interleaved = 1,  ///< tiles or pieces of the file layout interleave or overlap: data can't
                           ///< be found by offset
    flag_no_store = 2,     ///< this rank could not get its memory and can't be an aggregator
    flag_large_layout = 4,  ///< this rank's layouts are too deep, reach too far, or take more than
                            ///< kLayoutBytesMax to describe
    flag_agrees = 8,  ///< this rank's access was refused or more of its data follows; all ranks
                      ///< must learn this at the end, even with a sparse graph
};

inline constexpr double kCacheLine = 64;  // bytes

/// Bits 8 to 11 of the flags: log2 of how many memory pieces share a cache line.
inline constexpr unsigned kLineShareShift = 8;
inline constexpr std::uint32_t kLineShareMost = 15;

/// Returns the number of cache lines that hold the rank's memory pieces, with the number of pieces
/// per line rounded to a power of two.
[[nodiscard]] std::int64_t memory_lines(const AccessSummary& summary);

/// Summarises an access. Pure. Walks over the pieces only if `with_coverage`; otherwise makes a
/// limited number of searches in the layouts, however many pieces they have.
[[nodiscard]] AccessSummary summarise(const Access& access, bool with_coverage);

/// Summaries of some ranks, in rank order.
using Summaries = std::vector<AccessSummary>;
/// Summaries of all ranks. They are stored once per node, or once per rank.
using AllSummaries = std::span<const AccessSummary>;

/// Interleaving parts, as described by summaries.
struct Parts {
    std::int64_t count = 1;
    Bytes period = 0;
};
/// Returns the parts of all ranks with data, if they have the same parts and every rank's first
/// part lies in the first period. Otherwise returns one part.
[[nodiscard]] Parts common_parts(AllSummaries summaries);

/// Returns a fingerprint of the summaries. It stays the same if all hulls move by the same distance
/// in the file, and ignores coverage, which changes with such a move. Summaries that differ in
/// anything else have equal fingerprints with probability 2^-64.
[[nodiscard]] std::uint64_t fingerprint(AllSummaries summaries);

}  // namespace oratorio
