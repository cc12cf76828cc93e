// SPDX-License-Identifier: BSD-3-Clause
#include "file/device_pipe.hpp"

#include <algorithm>

namespace oratorio {

namespace {

Bytes piece_of(Bytes left) {
    return std::min(left, StagingBlocks::kPieceBytes);
}

}  // namespace

DevicePipe::DevicePipe(const OperationContext& context, Access access, DeviceMemory memory,
                       bool collective)
    : context_(context),
      access_(std::move(access)),
      memory_(std::move(memory)),
      collective_(collective),
      cursor_(memory_.layout),
      total_(access_.bytes()) {
    note(open());
    if (writes()) copy_ahead();
}

/// Waits for the copies under way: the memory must not be reused while they run.
DevicePipe::~DevicePipe() {
    if (queue_) (void)queue_->wait();
}

Error DevicePipe::open() {
    auto queue = memory_.open();
    if (!queue) return queue.error();
    queue_ = std::move(*queue);
    block_ = memory_.driver->blocks().take(*queue_);
    return block_ ? Error{}
                  : Error::make(ErrorKind::no_memory,
                                "not enough memory to copy device data through host memory");
}

void DevicePipe::note(const Error& error) {
    if (error.kind == ErrorKind::none) return;
    if (outcome_.error.kind == ErrorKind::none)
        outcome_.error = error.rank < 0 ? error.on(context_.file.transport.topology().rank) : error;
    ended_ = true;
}

/// Returns true if another piece follows. In a collective access a rank that has nothing left, or
/// has failed, still takes part in the pieces of other ranks.
bool DevicePipe::goes_on() const {
    return collective_ ? all_go_on_ : !ended_ && bytes_left() > 0;
}

/// Starts to copy the next piece of a write to host memory. The copy runs while the piece before it
/// is written to the file.
void DevicePipe::copy_ahead() {
    const Bytes bytes = piece_of(total_ - copied_);
    if (ended_ || bytes == 0) return;
    const auto piece = block_.piece(which_).first(static_cast<std::size_t>(bytes));
    note(gather_from_device(*queue_, cursor_, memory_.base, piece, block_.window()));
    copied_ += bytes;
}

void DevicePipe::begin_piece() {
    const Bytes bytes = ended_ ? 0 : piece_of(bytes_left());
    Access piece = access_;
    piece.from = access_.from + started_;
    piece.memory = bytes > 0 ? Layout{Shape::run(bytes), bytes, 0, 1} : Layout{};
    piece.buffer = bytes > 0 ? block_.piece(which_).data() : nullptr;
    piece.refused = outcome_.error;
    which_ = 1 - which_;
    started_ += bytes;
    piece.goes_on = bytes > 0 && bytes_left() > 0;
    run_ = std::make_unique<Run>(context_.next_run(collective_), std::move(piece), collective_);
}

/// Ends a piece. A read first waits for the copies of the previous piece, which have usually ended
/// by now, and then starts to copy this piece to the device. After an error it is unknown which
/// part of the bounce buffer was filled, so nothing is copied unless all of it was.
void DevicePipe::end_piece() {
    const Outcome piece = run_->outcome();
    all_go_on_ = run_->goes_on();
    if (run_->ends_late()) collective_ = false;  // this access ends without waiting for other ranks
    run_.reset();
    note(piece.error);
    if (writes()) {
        outcome_.bytes += piece.bytes;
        return;
    }
    if (!queue_ || !end_copies()) return;
    const bool is_short = copied_ + piece.bytes < started_;
    if (piece.bytes > 0 && !(is_short && piece.error.kind != ErrorKind::none)) {
        const auto got = block_.piece(1 - which_).first(static_cast<std::size_t>(piece.bytes));
        const Error error = scatter_to_device(*queue_, cursor_, memory_.base, got);
        note(error);
        if (error.kind == ErrorKind::none) copied_ += piece.bytes;
    }
    ended_ = ended_ || copied_ < started_;
}

/// Waits for the copies that were started. Returns true if all their data has arrived.
bool DevicePipe::end_copies() {
    const Error error = queue_->wait();
    note(error);
    const bool arrived = error.kind == ErrorKind::none;
    if (arrived && !writes()) outcome_.bytes = copied_;
    return arrived;
}

bool DevicePipe::step(int moves) {
    if (run_) {
        if (!run_->step(moves)) return false;
        end_piece();
    }
    if (queue_ && (writes() || bytes_left() == 0 || ended_)) end_copies();
    if (!goes_on()) return true;
    begin_piece();
    if (writes()) copy_ahead();
    return false;
}

std::optional<WaitHint> DevicePipe::waits_for() const {
    return run_ ? run_->waits_for() : std::nullopt;
}

}  // namespace oratorio
