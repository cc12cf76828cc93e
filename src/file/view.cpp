// SPDX-License-Identifier: BSD-3-Clause
#include "file/view.hpp"

#include <algorithm>

namespace oratorio {

namespace {

Error bad_view(std::string_view what) {
    return Error::make(ErrorKind::argument, what);
}

/// Makes the error for a filetype with an invalid layout. MPI names no error class for that;
/// programs that know ROMIO expect this one.
Error bad_layout(std::string_view what) {
    return Error::make(ErrorKind::io, what);
}

/// Returns true if no block begins before the previous block does. This suffices for a file that is
/// only read, where blocks may overlap.
bool begins_in_order(const ShapePtr& filetype) {
    if (filetype->monotonic()) return true;
    Cursor cursor(Layout{filetype, filetype->span().end, 0, 1});
    Offset last = 0;
    for (Bytes left = filetype->size(); left > 0;) {
        const StridedRun run = cursor.next(left);
        if (run.offset < last || run.stride < 0) return false;
        last = run.offset + (run.count - 1) * run.stride;
        left -= run.bytes();
    }
    return true;
}

/// Returns View::last_position of a tiling. REQUIRES: the extent is positive.
Bytes last_position_of(const Layout& tiling) {
    const Bytes tile = tiling.shape->size();
    if (tile == 0) return INT64_MAX;
    Bytes room = 0;  // for the beginnings of tiles
    if (__builtin_sub_overflow(kOffsetLimit - tiling.shape->span().end, tiling.origin, &room) ||
        room < 0)
        return -1;
    const std::int64_t tiles = std::min(room / tiling.extent + 1, kOffsetLimit / tile);
    return tiles * tile - 1;
}

}  // namespace

View View::bytes() {
    const Layout tiling{Shape::run(1), 1, 0, Layout::unbounded};
    return {.file = tiling, .last_position = last_position_of(tiling)};
}

// The filetype's lower bound has no effect: a typemap repeated n times puts copy k at k * extent
// (MPI-4.1, 5.1.2), so the data of tile k lies at displacement + k * extent + its offsets, wherever
// the lower bound marker is.
Result<View> View::make(Offset displacement, Bytes etype_size, ShapePtr filetype,
                        Bytes filetype_extent, bool writable, std::string representation) {
    if (displacement < 0) return bad_view("set view: the displacement is negative");
    if (etype_size < 0 || (etype_size == 0 && filetype->size() > 0)) {
        return bad_view("set view: the etype has no data but the filetype has");
    }
    if (etype_size > 0 && filetype->size() % etype_size != 0) {
        return bad_view("set view: the filetype's size is not a multiple of the etype's size");
    }
    if (filetype->size() > 0) {
        if (filetype->span().begin < 0)
            return bad_layout("set view: the filetype has a negative displacement");
        if (writable ? !filetype->monotonic() : !begins_in_order(filetype))
            return bad_layout("set view: the filetype's displacements decrease");
        if (filetype_extent <= 0)
            return bad_view("set view: the filetype's extent is not positive");
        if (writable && filetype->overlapping()) {
            return bad_layout(
                "set view: the filetype overlaps itself and the file is open for writing");
        }
    }
    const Layout tiling{std::move(filetype), filetype_extent, displacement, Layout::unbounded};
    return View{displacement, etype_size, tiling, std::move(representation),
                last_position_of(tiling)};
}

std::optional<Bytes> View::data_position(Offset index, Bytes bytes) const {
    Bytes first = 0;
    Bytes last = 0;
    if (index < 0 || __builtin_mul_overflow(index, etype_size, &first)) return {};
    if (__builtin_add_overflow(first, std::max<Bytes>(bytes, 1) - 1, &last)) return {};
    if (last > last_position) return {};
    return first;
}

Offset View::byte_offset(Offset index) const {
    return file.shape->size() == 0 ? displacement : offset_of_size(file, index * etype_size);
}

Offset View::etypes_before(Offset end_of_file) const {
    if (file.shape->size() == 0 || end_of_file <= displacement) return 0;
    const Bytes bytes = size_before_offset(file, end_of_file);
    return bytes / etype_size + (bytes % etype_size != 0 ? 1 : 0);
}

}  // namespace oratorio
