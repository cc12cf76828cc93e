// SPDX-License-Identifier: BSD-3-Clause
#include "plan/access.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "type/coverage.hpp"
#include "type/shape_codec.hpp"

namespace oratorio {

namespace {

constexpr std::int64_t kPartsMax = 512;  // all parts share a slot, which may be only a page
constexpr std::int64_t kListedMax = kLayoutBytesMax / 16;  // an entry takes an offset and a length

/// Estimates the number of pieces in `bytes` of `layout`, assuming that they are spread evenly.
/// Returns at least one if there is data, and no more than a summary can hold.
std::uint32_t estimate_pieces(const Layout& layout, Bytes bytes) {
    const Bytes size = layout.shape->size();
    if (bytes == 0 || size == 0) return 0;
    if (layout.contiguous()) return 1;
    const double tiles = static_cast<double>(bytes) / static_cast<double>(size);
    const double pieces = tiles * static_cast<double>(layout.shape->pieces());
    return static_cast<std::uint32_t>(
        std::clamp(pieces, 1.0, static_cast<double>(AccessSummary::kPiecesMost)));
}

Extent hull_of(const Layout& file, Bytes from, Bytes bytes) {
    if (file.searchable()) {
        return {offset_of_size(file, from), offset_of_size(file, from + bytes - 1) + 1};
    }
    const Bytes size = file.shape->size();
    const Extent span = file.shape->span();
    const Offset first = file.origin + from / size * file.extent;
    const Offset last = file.origin + (from + bytes - 1) / size * file.extent;
    return {std::min(first, last) + span.begin, std::max(first, last) + span.end};
}

/// Returns the number of cache lines that `count` parts touch, beginning `stride` bytes apart, if
/// one part touches `of_part` lines.
double lines_of_parts(double of_part, std::int64_t count, Bytes stride) {
    const auto parts = static_cast<double>(count);
    return of_part *
           std::clamp(parts * static_cast<double>(std::abs(stride)) / kCacheLine, 1.0, parts);
}

/// Estimates the number of cache lines that the shape touches: few if small pieces lie close
/// together.
double touched_lines(const Shape& shape) {
    if (shape.kind() == Shape::Kind::empty) return 0;
    const auto all = std::max(1.0, static_cast<double>(shape.size()) / kCacheLine);
    if (shape.kind() == Shape::Kind::run) return all;
    if (shape.kind() == Shape::Kind::strided)
        return lines_of_parts(touched_lines(*shape.child()), shape.count(), shape.stride());
    // If the pieces aren't in memory order, a line may leave the cache before its next piece is
    // used, so it is counted once per piece.
    const double most = shape.monotonic()
                            ? 1 + static_cast<double>(shape.span().length()) / kCacheLine
                            : std::numeric_limits<double>::infinity();
    const double each = shape.kind() == Shape::Kind::blocks
                            ? static_cast<double>(shape.count()) * touched_lines(*shape.child())
                            : std::max(all, static_cast<double>(shape.pieces()));
    return std::min(each, most);
}

/// Returns the number of offsets that a description of the shape would have to list. A result above
/// kListedMax may be too low.
std::int64_t listed_offsets(const Shape& shape) {
    std::int64_t listed = std::ssize(shape.offsets());
    if (shape.kind() == Shape::Kind::mixed) {
        for (std::int64_t part = 0; part < shape.count() && listed <= kListedMax; ++part)
            listed += listed_offsets(*shape.child(part));
    } else if (shape.child()) {
        listed += listed_offsets(*shape.child());
    }
    return listed;
}

/// Returns the number of equal, interleaving parts of the memory: each part begins inside the part
/// before it. Returns 1 unless one part alone is larger than a cache, because only then does it pay
/// to handle the parts together.
std::int64_t interleaved_parts(const Layout& memory) {
    constexpr Bytes kCacheBytes = 256 << 10;
    const bool moved = memory.shape->kind() == Shape::Kind::blocks && memory.shape->count() == 1;
    const Shape& shape = moved ? *memory.shape->child() : *memory.shape;
    if (memory.count > 1) {
        const bool inside = memory.extent > 0 && memory.extent < shape.span().length();
        return inside && shape.span().length() > kCacheBytes ? memory.count : 1;
    }
    if (shape.kind() != Shape::Kind::strided || !shape.child()) return 1;
    const Bytes span = shape.child()->span().length();
    return shape.stride() > 0 && shape.stride() < span && span > kCacheBytes ? shape.count() : 1;
}

/// Returns the flag bits that say how many memory pieces share a cache line (kLineShareShift).
/// Parts that interleave share cache lines only if they are handled together (`met_together`).
std::uint16_t line_share(const Layout& memory, bool met_together) {
    const double one = touched_lines(*memory.shape);
    if (one <= 0 || (!met_together && interleaved_parts(memory) > 1)) return 0;
    const double pieces =
        static_cast<double>(memory.shape->pieces()) * static_cast<double>(memory.count);
    const double share = pieces / lines_of_parts(one, memory.count, memory.extent);
    const double doublings = std::clamp(std::round(std::log2(share)), 0.0, double{kLineShareMost});
    return static_cast<std::uint16_t>(static_cast<unsigned>(doublings) << kLineShareShift);
}

/// Sets the summary's period if the parts lie equally far apart in the file.
void find_parts(const Access& access, AccessSummary& summary) {
    const std::int64_t parts = interleaved_parts(access.memory);
    if (parts < 2 || parts > kPartsMax || summary.bytes % parts != 0 ||
        (summary.flags & flag_interleaved) != 0)
        return;
    const Bytes part = summary.bytes / parts;
    Bytes period = 0;
    for (std::int64_t i = 1; i < parts; ++i) {
        const Offset here = offset_of_size(access.file, access.from + i * part);
        const Bytes step = here - offset_of_size(access.file, access.from + (i - 1) * part);
        if (i > 1 && step != period) return;
        period = step;
    }
    if (period > AccessSummary::kPeriodMost) return;
    if (period >= part && summary.hull.length() <= parts * period)
        summary.period = period & AccessSummary::kPeriodMost;
}

/// A hash of a sequence of numbers.
class Digest {
  public:
    void add(std::int64_t number) {
        value_ = mix(static_cast<Offset>(value_ * kOdd + static_cast<std::uint64_t>(number)));
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

  private:
    static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    std::uint64_t value_ = 0;
};

}  // namespace

Parts common_parts(AllSummaries summaries) {
    Parts common;
    Extent all;
    for (const AccessSummary& one : summaries) {
        if (one.bytes == 0) continue;
        if (all.empty()) common = {one.parts(), one.period};
        if (one.parts() != common.count || one.period != common.period) return {};
        all = hull(all, one.hull);
    }
    const bool fits = common.period > 0 && all.length() <= common.count * common.period;
    return fits ? common : Parts{};
}

std::uint64_t fingerprint(AllSummaries summaries) {
    Digest digest;
    Offset first = INT64_MIN;  // start of the hull of the first rank with data
    for (const AccessSummary& one : summaries) {
        if (one.bytes > 0 && first == INT64_MIN) first = one.hull.begin;
        const Offset step = one.hull.empty() ? 0 : first;
        for (const std::int64_t number :
             {one.hull.begin - step, one.hull.end - step, one.bytes, std::int64_t{one.pieces},
              std::int64_t{one.memory_pieces}, std::int64_t{one.flags}, Bytes{one.period}})
            digest.add(number);
    }
    return digest.value();
}

void seek_within(Cursor& file, Offset offset, Bytes from) {
    file.seek_offset(offset);
    if (file.tell_size() < from) file.seek_size(from);
}

std::int64_t memory_lines(const AccessSummary& summary) {
    return summary.memory_pieces >> (summary.flags >> kLineShareShift & kLineShareMost);
}

AccessSummary summarise(const Access& access, bool with_coverage) {
    AccessSummary summary;
    summary.bytes = access.bytes();
    if (!access.file.searchable()) summary.flags |= flag_interleaved;
    if (summary.bytes == 0) return summary;
    summary.hull = hull_of(access.file, access.from, summary.bytes);
    summary.pieces = estimate_pieces(access.file, summary.bytes);
    summary.memory_pieces = estimate_pieces(access.memory, summary.bytes);
    find_parts(access, summary);
    summary.flags |= line_share(access.memory, summary.period > 0);
    const Bytes listed = listed_offsets(*access.file.shape) + listed_offsets(*access.memory.shape);
    if (listed > kListedMax || !can_be_encoded(access.file) || !can_be_encoded(access.memory))
        summary.flags |= flag_large_layout;
    if (with_coverage) {
        summary.coverage = coverage(access.file, access.from, access.from + summary.bytes);
    }
    return summary;
}

}  // namespace oratorio
