// SPDX-License-Identifier: BSD-3-Clause
// Access: what one rank wants to move, and its summary: the few numbers that all ranks learn of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/agreed.hpp"
#include "base/direction.hpp"
#include "type/cursor.hpp"

namespace oratorio {

/// Data bytes [from, from + memory.size()) of `file` <-> all data bytes of `memory`, in data order.
struct Access {
    Direction direction = Direction::read;
    Layout file;
    Bytes from = 0;  ///< data position in `file`
    Layout memory;   ///< offsets relative to `buffer`
    std::byte* buffer = nullptr;
    Error refused;  ///< this rank can't take part with data (bad argument, no file): it moves
                    ///< nothing, but serves the others
    bool goes_on = false;  ///< collective: more of this rank's data follows in another access

    /// Data bytes this rank moves: 0 when refused.
    [[nodiscard]] Bytes bytes() const {
        return refused.kind == ErrorKind::none ? memory.size() : 0;
    }
    [[nodiscard]] bool has_one_memory_piece() const {
        return memory.shape->kind() == Shape::Kind::run && memory.contiguous();
    }
    /// One contiguous piece of memory, and one of the file, wherever it begins: at
    /// file.origin + from.
    [[nodiscard]] bool is_one_piece() const {
        return has_one_memory_piece() && file.shape->kind() == Shape::Kind::run &&
               file.extent == file.shape->size();
    }
};

/// To the first data byte at or after `offset`, and not before data position `from`, where an
/// access may begin inside an extent. Monotonic layouts only.
void seek_within(Cursor& file, Offset offset, Bytes from);

/// A layout that another rank is to walk may be described in so many bytes.
inline constexpr Bytes kLayoutBytesMax = 512 << 10;

/// Travels as bytes; one per rank, 48 bytes: with a million ranks each byte is a MiB on every node.
struct AccessSummary {
    static constexpr std::int64_t kPiecesMost = UINT32_MAX;  ///< that are told; it may have more
    static constexpr Bytes kPeriodMost = (Bytes{1} << 47) - 1;

    Extent hull;  ///< from the first to the last byte of the file it touches; empty without data
    Bytes bytes = 0;
    std::uint64_t coverage = 0;  ///< sum of the coverage hash over its pieces (writes)
    std::uint32_t pieces = 0;    ///< contiguous file pieces, estimated for part of a layout
    std::uint32_t memory_pieces = 0;
    std::uint16_t flags = 0;  ///< AccessFlag bits
    /// The data is equal parts that lie so many bytes apart in the file and interleave in memory
    /// (variables of a cell side by side); 0 where it isn't like that.
    Bytes period : 48 = 0;

    /// Each is in a period of its own, so the hull tells how many there are; 1 without a period.
    [[nodiscard]] std::int64_t parts() const {
        return period == 0 ? 1 : (hull.length() + period - 1) / period;
    }
    bool operator==(const AccessSummary&) const = default;
};
static_assert(sizeof(AccessSummary) == 48);

enum AccessFlag : std::uint16_t {
    flag_interleaved =
        1,  ///< tiles or pieces of the file layout interleave or overlap: only data order works
    flag_no_store = 2,      ///< this rank has no open file and can't be an aggregator
    flag_large_layout = 4,  ///< describing its layouts takes more than kLayoutBytesMax, or they
                            ///< are too deep or reach too far to be described
    flag_agrees = 8,        ///< it was refused or its data goes on: all must hear of it at the end,
                            ///< though a sparse graph was asked for
};

inline constexpr double kCacheLine = 64;  // bytes

/// And bits 8 to 11: log2 of how many memory pieces share a cache line.
inline constexpr unsigned kLineShareShift = 8;
inline constexpr std::uint32_t kLineShareMost = 15;

/// Cache lines of its memory that small pieces lie in, to a power of two.
[[nodiscard]] std::int64_t memory_lines(const AccessSummary& summary);

/// Pure. O(depth log parts), plus one walk over the pieces when `with_coverage`.
[[nodiscard]] AccessSummary summarise(const Access& access, bool with_coverage);

/// Some ranks' summaries, in rank order.
using Summaries = std::vector<AccessSummary>;
/// Those of all ranks, wherever they lie: once for a node, or with each rank.
using AllSummaries = std::span<const AccessSummary>;

/// As the summaries have them.
struct Parts {
    std::int64_t count = 1;
    Bytes period = 0;
};
/// Those of all ranks with data, where they have the same ones, and every rank's first part lies in
/// the first period; else one part.
[[nodiscard]] Parts common_parts(AllSummaries summaries);

/// Equal for summaries that are, but for one step that all of them made in the file. Coverage
/// doesn't count: it changes with the step. Others are equal by chance only, with probability
/// 2^-64.
[[nodiscard]] std::uint64_t likeness(AllSummaries summaries);

}  // namespace oratorio
