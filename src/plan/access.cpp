#include "plan/access.hpp"

#include "type/coverage.hpp"

namespace oratorio {

namespace {

/// Pieces in `bytes` of `layout`, assuming they are spread evenly; never less than one per run of
/// data.
std::int64_t estimate_pieces(const Layout& layout, Bytes bytes) {
    const Bytes size = layout.shape->size();
    if (bytes == 0 || size == 0) return 0;
    if (layout.contiguous()) return 1;
    const double tiles = static_cast<double>(bytes) / static_cast<double>(size);
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(tiles * static_cast<double>(layout.shape->pieces())));
}

/// Data can be found by offset: a byte further on in the data is never at or before an earlier one
/// in the file.
bool searchable(const Layout& file) {
    const bool tiles_apart = file.count <= 1 || file.extent >= file.shape->span().length();
    return file.monotonic() && !file.shape->overlapping() && tiles_apart;
}

Extent hull_of(const Layout& file, Bytes from, Bytes bytes) {
    if (searchable(file)) {
        return {offset_of_size(file, from), offset_of_size(file, from + bytes - 1) + 1};
    }
    const Bytes size = file.shape->size();
    const Extent span = file.shape->span();
    const Offset first = file.origin + from / size * file.extent;
    const Offset last = file.origin + (from + bytes - 1) / size * file.extent;
    return {std::min(first, last) + span.begin, std::max(first, last) + span.end};
}

}  // namespace

AccessSummary summarise(const Access& access, bool with_coverage) {
    AccessSummary summary;
    summary.bytes = access.bytes();
    if (!searchable(access.file)) summary.flags |= flag_interleaved;
    if (summary.bytes == 0) return summary;
    summary.hull = hull_of(access.file, access.from, summary.bytes);
    summary.pieces = estimate_pieces(access.file, summary.bytes);
    summary.memory_pieces = estimate_pieces(access.memory, summary.bytes);
    if (with_coverage) {
        summary.coverage = coverage(access.file, access.from, access.from + summary.bytes);
    }
    return summary;
}

}  // namespace oratorio
