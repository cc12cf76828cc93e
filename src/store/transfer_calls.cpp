// SPDX-License-Identifier: BSD-3-Clause
#include "store/transfer_calls.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace oratorio {

// Moves a request by preadv or pwritev. A request of one piece uses pread or pwrite: the kernel
// then copies no list, which saves a tenth of the cost of a small write.
Answer TransferCalls::move(const IoRequest& request, int file) {
    if (request.memory.size() == 1)
        return move_piece(request.direction, request.memory.front(), request.offset, file);
    if (lists_refused_) return move_pieces(request, file);
    const auto* const memory = request.memory.data();
    const auto count = static_cast<int>(request.memory.size());
    const Answer moved = answer_of(request.direction == Direction::read
                                       ? ::preadv(file, memory, count, request.offset)
                                       : ::pwritev(file, memory, count, request.offset));
    if (moved.error_number != ENOSYS && moved.error_number != EPERM) return moved;
    const Answer by_pieces = move_pieces(request, file);
    lists_refused_ = !by_pieces.failed();
    return by_pieces;
}

Answer TransferCalls::move_piece(Direction direction, const iovec& piece, Offset offset, int file) {
    const std::span memory(static_cast<std::byte*>(piece.iov_base), piece.iov_len);
    if (BounceBuffer::is_better(direction, memory, offset) && bounce_buffer_.prepare())
        return bounce_buffer_.move(direction, memory, offset, file);
    return answer_of(direction == Direction::read
                         ? ::pread(file, piece.iov_base, piece.iov_len, offset)
                         : ::pwrite(file, piece.iov_base, piece.iov_len, offset));
}

/// Moves the pieces one by one. Returns a failure only if no bytes have moved before it. Otherwise
/// returns the moved bytes; a call for the rest then meets the failure again.
Answer TransferCalls::move_pieces(const IoRequest& request, int file) {
    Answer all;
    for (const iovec& piece : request.memory) {
        const Answer moved =
            move_piece(request.direction, piece, request.offset + all.result, file);
        if (moved.failed() && all.result == 0) return moved;
        if (moved.failed()) break;
        all.result += moved.result;
        if (static_cast<std::size_t>(moved.result) < piece.iov_len) break;
    }
    return all;
}

}  // namespace oratorio
