// SPDX-License-Identifier: BSD-3-Clause
#include "type/flatten.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "type/cursor.hpp"
#include "type/kernels.hpp"

namespace oratorio {

std::vector<Extent> flatten(const Layout& layout, Bytes from, Bytes to) {
    std::vector<Extent> list;
    Cursor cursor(layout);
    cursor.seek_size(from);
    PieceRows pieces;
    for (Bytes at = from; at < to; at = cursor.tell_size()) {
        cursor.next_pieces(pieces, to - at);
        if (pieces.rows == 0) break;
        for (std::int64_t row = 0; row < pieces.rows; ++row) {
            for (std::int64_t piece = 0; piece < pieces.row.count; ++piece) {
                const Offset begin = row * pieces.stride + pieces.row.offset_of(piece);
                const Offset end = begin + pieces.row.length_of(piece);
                if (!list.empty() && list.back().end == begin)
                    list.back().end = end;
                else
                    list.push_back({begin, end});
            }
        }
    }
    return list;
}

ListCursor::ListCursor(std::vector<Extent> pieces) : pieces_(std::move(pieces)) {
    before_.reserve(pieces_.size() + 1);
    Bytes size = 0;
    for (const Extent& piece : pieces_)
        before_.push_back(std::exchange(size, size + piece.length()));
    before_.push_back(size);
}

Offset ListCursor::tell_offset() const {
    if (!at_end()) return pieces_[piece_].begin + within_;
    return pieces_.empty() ? 0 : pieces_.back().end;
}

void ListCursor::seek_size(Bytes at) {
    assert(at >= 0 && at <= size());
    const auto found = std::upper_bound(before_.begin(), before_.end(), at) - 1;
    piece_ = static_cast<std::size_t>(found - before_.begin());
    within_ = at - *found;
}

void ListCursor::seek_offset(Offset offset) {
    const auto found =
        std::partition_point(pieces_.begin(), pieces_.end(),
                             [offset](const Extent& piece) { return piece.end <= offset; });
    piece_ = static_cast<std::size_t>(found - pieces_.begin());
    within_ = at_end() ? 0 : std::max(offset - found->begin, Bytes{0});
}

void copy_between(ListCursor& to, std::byte* to_base, ListCursor& from, const std::byte* from_base,
                  Bytes bytes) {
    assert(bytes <= to.size() - to.tell_size() && bytes <= from.size() - from.tell_size());
    while (bytes > 0) {
        const Bytes length = std::min({to.left(), from.left(), bytes});
        copy_piece(displaced(to_base, to.tell_offset()), displaced(from_base, from.tell_offset()),
                   length);
        to.advance(length);
        from.advance(length);
        bytes -= length;
    }
}

}  // namespace oratorio
