// SPDX-License-Identifier: BSD-3-Clause
#include "file/one_piece.hpp"

#include <algorithm>

namespace oratorio {

bool has_few_memory_pieces(const Access& access) {
    if (access.has_one_memory_piece()) return true;
    const Layout& memory = access.memory;
    return memory.count <= kMemoryPiecesAtOnce &&
           memory.shape->pieces() <= kMemoryPiecesAtOnce / std::max<std::int64_t>(memory.count, 1);
}

MemoryPieces::MemoryPieces(const Access& access) {
    const auto add = [&](Offset at, Bytes bytes) {
        pieces_[count_++] = {access.buffer + at, static_cast<std::size_t>(bytes)};
    };
    if (access.has_one_memory_piece()) {
        add(access.memory.origin, access.bytes());
        return;
    }
    Cursor cursor(access.memory);
    for (Bytes left = access.bytes(); left > 0;) {
        const StridedRun run = cursor.next(left);
        for (std::int64_t i = 0; i < run.count; ++i) add(run.offset + i * run.stride, run.length);
        left -= run.bytes();
    }
}

std::optional<Offset> place_of_one_piece(const Layout& file, Bytes from, Bytes bytes) {
    if (file.is_one_run()) return file.origin + from;
    const Shape& shape = *file.shape;
    if (shape.kind() == Shape::Kind::run) {  // each tile is a piece
        const Bytes tile = from / shape.size();
        const Bytes begin = from - tile * shape.size();
        if (begin + bytes > shape.size()) return std::nullopt;
        return file.origin + tile * file.extent + begin;
    }
    // The search isn't worth its time if the pieces of the view are shorter, on average, than half
    // the access.
    if (bytes > 2 * (shape.size() / shape.pieces())) return std::nullopt;
    Cursor cursor(file);
    cursor.seek_size(from);
    const StridedRun run = cursor.next(bytes);
    if (run.count != 1 || run.length != bytes) return std::nullopt;
    return run.offset;
}

Transferred move_range(Store& store, Stats& stats, const LockPolicy& locks, Direction direction,
                       Offset offset, std::span<const iovec> memory) {
    if (auto ready = store.prepare(); !ready) return {.error = ready.error()};
    if (direction == Direction::read || !locks.shares(false))
        return transfer(store, &stats, direction, offset, memory);
    const Extent range{offset, offset + length_of(memory)};
    auto held = locks.share(store, range, false);
    if (!held) return {.error = held.error()};
    Transferred done = transfer(store, &stats, direction, offset, memory);
    if (const auto unlocked = held->give_back(); !unlocked && done.error.kind == ErrorKind::none)
        done.error = unlocked.error();
    return done;
}

}  // namespace oratorio
