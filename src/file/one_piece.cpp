// SPDX-License-Identifier: BSD-3-Clause
#include "file/one_piece.hpp"

namespace oratorio {

std::optional<Offset> place_of_one_piece(const Access& access) {
    if (access.is_one_piece()) return access.file.origin + access.from;
    // The search isn't worth its time if the pieces of the view are shorter, on average, than half
    // the access.
    const Shape& shape = *access.file.shape;
    if (access.bytes() > 2 * (shape.size() / shape.pieces())) return std::nullopt;
    Cursor cursor(access.file);
    cursor.seek_size(access.from);
    const StridedRun run = cursor.next(access.bytes());
    if (run.count != 1 || run.length != access.bytes()) return std::nullopt;
    return run.offset;
}

Transferred move_range(Store& store, Stats& stats, const LockPolicy& locks, Direction direction,
                       Offset offset, std::span<const iovec> memory) {
    if (auto ready = store.prepare(); !ready) return {.error = ready.error()};
    RangeLock held;
    if (direction == Direction::write) {
        const Extent range{offset, offset + length_of(memory)};
        auto shared = locks.share(store, range, false);
        if (!shared) return {.error = shared.error()};
        held = std::move(*shared);
    }
    Transferred done = Transfer(store, &stats).move(direction, offset, memory);
    if (const auto unlocked = held.give_back(); !unlocked && done.error.kind == ErrorKind::none)
        done.error = unlocked.error();
    return done;
}

}  // namespace oratorio
