// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "type/kernels.hpp"
#include "type/move_bytes.hpp"

namespace oratorio {

namespace {

/// The three representations of a run of pieces, with one interface for the merge.
struct Spaced {
    PieceRun run;
    [[nodiscard]] Offset begin(std::int64_t piece) const { return piece * run.stride; }
    [[nodiscard]] Bytes length(std::int64_t /*piece*/) const { return run.length; }
};
struct Listed {
    PieceRun run;
    [[nodiscard]] Offset begin(std::int64_t piece) const { return run.offsets[piece]; }
    [[nodiscard]] Bytes length(std::int64_t /*piece*/) const { return run.length; }
};
struct ListedUneven {
    PieceRun run;
    [[nodiscard]] Offset begin(std::int64_t piece) const { return run.offsets[piece]; }
    [[nodiscard]] Bytes length(std::int64_t piece) const {
        return run.prefix[piece + 1] - run.prefix[piece];
    }
};

template <class With>
auto with_kind_of(const PieceRun& run, With with) {
    if (run.offsets == nullptr) return with(Spaced{run});
    if (run.prefix == nullptr) return with(Listed{run});
    return with(ListedUneven{run});
}

/// The position of a merge on one side.
template <class Byte, class Kind>
struct Walk {
    Kind kind;
    Byte* base;
    std::int64_t piece;
    Byte* at;
    Bytes left;

    Walk(Byte* side_base, Kind of, const PiecePosition& position)
        : kind(of),
          base(displaced(side_base, kind.run.origin)),
          piece(position.piece),
          at(displaced(base, kind.begin(piece) + position.within)),
          left(kind.length(piece) - position.within) {}

    void next_piece() {
        ++piece;
        at = displaced(base, kind.begin(piece));
        left = kind.length(piece);
    }
    /// Advances by `bytes` without a branch, because which side's piece ends first is often random.
    void move_on(Bytes bytes) {
        const bool done = bytes == left;
        piece += done;
        Byte* const next = displaced(base, kind.begin(piece));
        const Bytes whole = kind.length(piece);
        at = done ? next : at + bytes;
        left = done ? whole : left - bytes;
    }
    [[nodiscard]] PiecePosition position() const { return {piece, kind.length(piece) - left}; }
};

template <class Move, class To, class From>
[[gnu::always_inline]] inline Bytes merge(To& to_side, From& from_side, std::int64_t to_last,
                                          std::int64_t from_last) {
    To to = to_side;  // local copies, which stay in registers
    From from = from_side;
    Bytes total = 0;
    while (to.piece < to_last && from.piece < from_last) {
        const Bytes bytes = std::min(to.left, from.left);
        Move()(to.at, from.at, bytes);
        total += bytes;
        // If both lists are equal, the processor predicts this branch, so loading the next pieces
        // doesn't wait until the lengths of the current ones are loaded and compared.
        if (to.left == from.left) {
            to.next_piece();
            from.next_piece();
        } else {
            to.move_on(bytes);
            from.move_on(bytes);
        }
    }
    to_side = to;
    from_side = from;
    return total;
}

template <class To, class From>
Bytes merge_branching(To& to, From& from, std::int64_t to_last, std::int64_t from_last) {
    return merge<Branching>(to, from, to_last, from_last);
}

template <class To, class From>
ORATORIO_MASKED Bytes merge_masked(To& to, From& from, std::int64_t to_last,
                                   std::int64_t from_last) {
    return merge<Masked>(to, from, to_last, from_last);
}

}  // namespace

Bytes copy_merged(const MergedSide<std::byte>& to, const MergedSide<const std::byte>& from,
                  bool masked) {
    return with_kind_of(to.run, [&](auto to_kind) {
        return with_kind_of(from.run, [&](auto from_kind) {
            Walk to_walk(to.base, to_kind, to.position);
            Walk from_walk(from.base, from_kind, from.position);
            const auto run = masked ? merge_masked<decltype(to_walk), decltype(from_walk)>
                                    : merge_branching<decltype(to_walk), decltype(from_walk)>;
            const Bytes bytes = run(to_walk, from_walk, to.run.count - 1, from.run.count - 1);
            to.position = to_walk.position();
            from.position = from_walk.position();
            return bytes;
        });
    });
}

}  // namespace oratorio
