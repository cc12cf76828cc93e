// SPDX-License-Identifier: BSD-3-Clause
// View: displacement, etype, filetype (MPI-4.1, 14.3): which bytes of the file a rank sees, and in
// which units it counts them.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "type/cursor.hpp"

namespace oratorio {

struct View {
    Offset displacement = 0;
    Bytes etype_size = 1;
    Layout file;  ///< the filetype tiled from the displacement, unbounded
    std::string representation = "native";
    /// The last position in the view's data whose tile ends by kOffsetLimit, in bytes; -1 if there
    /// is none, and the largest number if the filetype has no data.
    Bytes last_position = INT64_MAX;

    /// Returns the default view: bytes from offset 0.
    [[nodiscard]] static View bytes();
    /// Makes a view from MPI's arguments, and checks MPI's rules: displacements aren't negative and
    /// don't decrease, the filetype's extent is positive, its size is a multiple of the etype's
    /// size, and if `writable`, it doesn't overlap itself. Fails with `io` if the filetype's layout
    /// breaks a rule, otherwise with `argument`. Tiles may interleave (their extent is then smaller
    /// than their span): data is accessed in data order, but MPI_SEEK_END isn't supported. If the
    /// filetype has no data, no byte of the file can be reached through the view.
    [[nodiscard]] static Result<View> make(Offset displacement, Bytes etype_size, ShapePtr filetype,
                                           Bytes filetype_extent, bool writable,
                                           std::string representation);
    /// Returns the position of etype `index` in the view's data, in bytes. Returns nothing if
    /// `index` is negative, or if the tiles that hold the `bytes` bytes (at least one) from that
    /// position on end past kOffsetLimit.
    [[nodiscard]] std::optional<Bytes> data_position(Offset index, Bytes bytes) const;
    /// Returns the byte offset in the file of etype `index` relative to the view
    /// (MPI_File_get_byte_offset); the displacement if the filetype has no data. REQUIRES: `index`
    /// has a data position.
    [[nodiscard]] Offset byte_offset(Offset index) const;
    /// Returns the number of etypes of the view that begin before byte `end_of_file`
    /// (MPI_SEEK_END). REQUIRES: the tiling is monotonic.
    [[nodiscard]] Offset etypes_before(Offset end_of_file) const;
};

}  // namespace oratorio
