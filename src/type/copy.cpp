// SPDX-License-Identifier: BSD-3-Clause
#include "type/copy.hpp"

#include <algorithm>
#include <cassert>

#include "type/kernels.hpp"
#include "type/streamed.hpp"

namespace oratorio {

namespace {

/// One side of a copy: the pieces that were taken from the side's cursor and are not copied yet.
/// Progress within a row only moves a position, because updating the description of the row's
/// pieces costs more.
template <class Byte>
class Side {
  public:
    explicit Side(Byte* base) : base_(base) {}
    /// Makes a side of packed bytes, which are one long piece.
    explicit Side(std::span<Byte> packed) : base_(packed.data()) {
        if (packed.empty()) return;
        pieces_.row.length = std::ssize(packed);
        pieces_.row.count = 1;
        pieces_.rows = 1;
        begin();
    }

    void refill(Cursor& cursor, Bytes bytes_max) {
        cursor.next_pieces(pieces_, bytes_max);
        if (pieces_.rows > 0) begin();
    }
    [[nodiscard]] bool empty() const { return pieces_.rows == 0; }
    [[nodiscard]] Byte* base() const { return base_; }
    [[nodiscard]] const PieceRun& row() const { return pieces_.row; }
    [[nodiscard]] PiecePosition& position() { return position_; }
    [[nodiscard]] bool begun() const { return position_.within > 0; }
    /// Returns the number of bytes left in the current piece.
    [[nodiscard]] Bytes left() const { return left_; }
    /// Returns the number of pieces left in the row, including the current one.
    [[nodiscard]] std::int64_t count() const { return row().count - position_.piece; }
    /// Returns the number of rows left, including the current one; 1 if a whole piece of the
    /// current row is done.
    [[nodiscard]] std::int64_t rows() const { return position_.piece == 0 ? pieces_.rows : 1; }
    [[nodiscard]] Bytes row_bytes() const { return row_bytes_; }
    /// Returns the lengths of the row's pieces from the current one on.
    [[nodiscard]] PieceLengths lengths() const {
        const Bytes* const prefix = row().prefix;
        return {prefix != nullptr ? prefix + position_.piece : nullptr, row().length};
    }
    [[nodiscard]] Bytes mean_length() const { return row_bytes_ / row().count; }

    /// Returns the address of the next byte.
    [[nodiscard]] Byte* first() const {
        return displaced(base_, row().offset_of(position_.piece) + position_.within);
    }
    [[nodiscard]] Places<Byte> places() const {
        const std::int64_t piece = position_.piece;
        if (row().offsets == nullptr)
            return {displaced(base_, row().offset_of(piece)), nullptr, row().stride,
                    pieces_.stride};
        return {displaced(base_, row().origin), row().offsets + piece, 0, pieces_.stride};
    }
    /// Returns the places that the pieces of `many` have in this side's current piece, packed one
    /// after the other.
    template <class OtherByte>
    [[nodiscard]] Places<Byte> packed_places(const Side<OtherByte>& many) const {
        const PieceRun& other = many.row();
        if (other.prefix == nullptr) return {first(), nullptr, other.length, many.row_bytes()};
        const Bytes* const prefix = other.prefix + many.position_.piece;
        return {displaced(first(), -*prefix), prefix, 0, many.row_bytes()};
    }

    /// Removes `rows` times `count` pieces: whole rows if `count` is the number of pieces left in
    /// the current row; otherwise all of them from the current row.
    void drop(std::int64_t count, std::int64_t rows) {
        if (count == this->count()) return drop_rows(rows);
        if (count * rows == this->count()) return drop_rows(1);
        position_ = {position_.piece + count * rows, 0};
        settle();
    }
    void drop_bytes(Bytes bytes) {
        if (bytes == left_) return drop(1, 1);
        position_.within += bytes;
        left_ -= bytes;
    }
    /// Updates left() after position() has changed.
    void settle() { left_ = row().length_of(position_.piece) - position_.within; }

  private:
    template <class OtherByte>
    friend class Side;

    void begin() {
        row_bytes_ = row().bytes();
        position_ = {};
        settle();
    }
    void drop_rows(std::int64_t rows) {
        pieces_.rows -= rows;
        pieces_.row.origin += rows * pieces_.stride;
        position_ = {};
        settle();
    }

    Byte* base_;
    PieceRows pieces_;  ///< the current row, with the pieces that are done, and the rows after it
    PiecePosition position_;
    Bytes left_ = 0;
    Bytes row_bytes_ = 0;
};

using TargetSide = Side<std::byte>;
using SourceSide = Side<const std::byte>;

/// How a copy stores its data.
struct Stores {
    Target target = Target::reused;
    /// Set if any store was streamed; then the copy ends with finish_streaming().
    bool streamed = false;
};

void copy_pieces(const Places<std::byte>& to, const Places<const std::byte>& from,
                 PieceLengths lengths, std::int64_t count, std::int64_t rows, Stores& stores) {
    if (stores.target == Target::streamed && worth_streaming(to, lengths, count)) {
        stream_pieces(to, from, lengths, count, rows);
        stores.streamed = true;
    } else if (lengths.prefix == nullptr) {
        copy_equal(to, from, lengths.length, count, rows);
    } else {
        copy_uneven(to, from, lengths.prefix, count, rows);
    }
}

/// Copies pieces that have the same length on both sides, as many rows as possible in one call.
/// Returns the number of bytes copied.
Bytes copy_alike(TargetSide& to, SourceSide& from, Stores& stores) {
    Places<std::byte> target = to.places();
    Places<const std::byte> source = from.places();
    const std::int64_t count = std::min(to.count(), from.count());
    std::int64_t rows = 1;
    if (to.count() == from.count()) {
        rows = std::min(to.rows(), from.rows());
    } else if (to.rows() > 1 && to.count() == count && source.offsets == nullptr) {
        rows = std::min(to.rows(), from.count() / count);
        source.row_stride = count * source.stride;
    } else if (from.rows() > 1 && from.count() == count && target.offsets == nullptr) {
        rows = std::min(from.rows(), to.count() / count);
        target.row_stride = count * target.stride;
    }
    const Bytes bytes = rows * count * to.left();
    copy_pieces(target, source, {nullptr, to.left()}, count, rows, stores);
    to.drop(count, rows);
    from.drop(count, rows);
    return bytes;
}

/// The pieces of one side that fit into a piece of the other: some pieces of a row, or whole rows.
struct Portion {
    std::int64_t count;
    std::int64_t rows;
    Bytes bytes;
};

template <class Side>
Portion portion_within(Side& many, Bytes room) {
    if (many.rows() > 1 && room >= 2 * many.row_bytes()) {
        std::int64_t rows = many.rows();
        if (rows * many.row_bytes() > room) rows = room / many.row_bytes();
        return {many.count(), rows, rows * many.row_bytes()};
    }
    const std::int64_t first = many.position().piece;
    const std::int64_t count = pieces_within(many.row(), first, room);
    return {count, 1, many.row().bytes_of(first, count)};
}

Bytes copy_into_long(TargetSide& to, SourceSide& from, Stores& stores) {
    const auto [count, rows, bytes] = portion_within(from, to.left());
    copy_pieces(to.packed_places(from), from.places(), from.lengths(), count, rows, stores);
    from.drop(count, rows);
    to.drop_bytes(bytes);
    return bytes;
}

Bytes copy_out_of_long(TargetSide& to, SourceSide& from, Stores& stores) {
    const auto [count, rows, bytes] = portion_within(to, from.left());
    copy_pieces(to.places(), from.packed_places(to), to.lengths(), count, rows, stores);
    to.drop(count, rows);
    from.drop_bytes(bytes);
    return bytes;
}

/// Returns true if the pieces of both sides have similar mean lengths, so that only a few pieces of
/// one side fit into one piece of the other.
bool similar(const TargetSide& to, const SourceSide& from) {
    constexpr Bytes kFew = 4;
    const Bytes target = to.mean_length();
    const Bytes source = from.mean_length();
    return target < kFew * source && source < kFew * target;
}

/// Returns true if copy_merged() should copy: it cuts the pieces of each side where those of the
/// other side end, and uses ordinary stores. Cut pieces can be short, so streamed stores are faster
/// than copy_merged() only if the pieces are much longer than streaming needs.
bool merges(const TargetSide& to, const SourceSide& from, const Stores& stores) {
    constexpr Bytes kMuch = 10;
    if (to.count() == 1 || from.count() == 1 || !similar(to, from)) return false;
    return stores.target == Target::reused ||
           !worth_streaming(std::min(to.mean_length(), from.mean_length()) / kMuch);
}

Bytes copy_cut(TargetSide& to, SourceSide& from, Stores& stores) {
    const Bytes bytes = std::min(to.left(), from.left());
    if (stores.target == Target::streamed && worth_streaming(bytes)) {
        stream_piece(to.first(), from.first(), bytes);
        stores.streamed = true;
    } else {
        copy_piece(to.first(), from.first(), bytes);
    }
    to.drop_bytes(bytes);
    from.drop_bytes(bytes);
    return bytes;
}

/// Copies bytes that both sides have, as many as one call of a kernel can, and returns their
/// number.
Bytes copy_some(TargetSide& to, SourceSide& from, Stores& stores) {
    const bool whole = !to.begun() && !from.begun();
    const bool even = to.row().prefix == nullptr && from.row().prefix == nullptr;
    if (whole && even && to.left() == from.left()) return copy_alike(to, from, stores);
    if (merges(to, from, stores)) {
        const Bytes bytes = copy_merged({to.base(), to.row(), to.position()},
                                        {from.base(), from.row(), from.position()});
        to.settle();
        from.settle();
        return bytes;
    }
    if (!from.begun() && from.left() <= to.left()) return copy_into_long(to, from, stores);
    if (!to.begun() && to.left() <= from.left()) return copy_out_of_long(to, from, stores);
    return copy_cut(to, from, stores);
}

}  // namespace

void copy_between(Cursor& to, std::byte* to_base, Cursor& from, const std::byte* from_base,
                  Bytes bytes, Target kind) {
    TargetSide target(to_base);
    SourceSide source(from_base);
    Stores stores{kind};
    while (bytes > 0) {
        if (target.empty()) target.refill(to, bytes);
        if (source.empty()) source.refill(from, bytes);
        assert(!target.empty() && !source.empty());
        if (target.empty() || source.empty()) break;
        bytes -= copy_some(target, source, stores);
    }
    if (stores.streamed) finish_streaming();
}

void gather_bytes(Cursor& memory, const std::byte* base, std::span<std::byte> out) {
    TargetSide target(out);
    SourceSide source(base);
    Stores stores;
    for (Bytes bytes = std::ssize(out); bytes > 0; bytes -= copy_some(target, source, stores)) {
        if (source.empty()) source.refill(memory, bytes);
        assert(!source.empty());
        if (source.empty()) return;
    }
}

void scatter_bytes(Cursor& memory, std::byte* base, std::span<const std::byte> in) {
    TargetSide target(base);
    SourceSide source(in);
    Stores stores;
    for (Bytes bytes = std::ssize(in); bytes > 0; bytes -= copy_some(target, source, stores)) {
        if (target.empty()) target.refill(memory, bytes);
        assert(!target.empty());
        if (target.empty()) return;
    }
}

}  // namespace oratorio
