// SPDX-License-Identifier: BSD-3-Clause
#include "type/short_read.hpp"

#include <algorithm>

#include "type/cursor.hpp"

namespace oratorio {

namespace {

/// Calls `visit(data position, offset, length)` for each piece of `file` in data positions `data`.
template <class Visit>
void each_piece(const Layout& file, Extent data, const Visit& visit) {
    Cursor cursor(file);
    cursor.seek_size(data.begin);
    for (Bytes at = data.begin; at < data.end; at = cursor.tell_size()) {
        const StridedRun run = cursor.next(data.end - at);
        if (run.count == 0) return;
        for (std::int64_t i = 0; i < run.count; ++i)
            visit(at + i * run.length, run.offset + i * run.stride, run.length);
    }
}

/// Returns the smallest file length for which at least `bytes` bytes of the data positions `data`
/// lie before the end.
Offset end_with(const Layout& file, Extent data, Bytes bytes) {
    Offset low = 0;
    for (Offset high = kOffsetLimit; low < high;) {
        const Offset middle = low + (high - low) / 2;
        Bytes before = 0;
        each_piece(file, data, [&](Bytes, Offset offset, Bytes length) {
            before += std::clamp<Bytes>(middle - offset, 0, length);
        });
        if (before >= bytes)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

}  // namespace

void each_part_before_end(const Layout& file, Extent data, Bytes bytes,
                          const std::function<void(Extent)>& visit) {
    if (bytes <= 0) return;
    if (bytes >= data.length()) return visit(data);
    if (file.searchable()) return visit({data.begin, data.begin + bytes});
    const Offset end = end_with(file, data, bytes);
    Extent part{data.begin, data.begin};
    each_piece(file, data, [&](Bytes at, Offset offset, Bytes length) {
        const Bytes there = std::clamp<Bytes>(end - offset, 0, length);
        if (there == 0) return;
        if (part.end != at) {
            if (!part.empty()) visit(part);
            part.begin = at;
        }
        part.end = at + there;
    });
    if (!part.empty()) visit(part);
}

}  // namespace oratorio
