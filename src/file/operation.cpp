// SPDX-License-Identifier: BSD-3-Clause
#include "file/operation.hpp"

#include <algorithm>
#include <new>

#include "type/short_read.hpp"

namespace oratorio {

namespace {

Access without_data(Direction direction) {
    Access none;
    none.direction = direction;
    none.file = Layout{Shape::run(1), 1, 0, 1};
    return none;
}

constexpr const char* kNoStaging = "not enough memory to stage the data: access less data per call";

}  // namespace

Operation::Operation(OperationContext context, Access access, bool collective,
                     std::shared_ptr<Conversion> conversion, std::byte* user)
    : context_(std::move(context)),
      access_(std::move(access)),
      direction_(access_.direction),
      collective_(collective),
      conversion_(std::move(conversion)),
      user_(user) {
    if (access_.refused.kind != ErrorKind::none && !collective_) finish({0, access_.refused});
    if (collective_ && direction_ == Direction::write) entered_.emplace(context_.file.lock_policy);
}

Operation::Operation(OperationContext context, Access access, bool collective, DeviceMemory device)
    : Operation(std::move(context), std::move(access), collective, nullptr, nullptr) {
    device_.emplace(std::move(device));
}

/// Begins the access. Memory is reserved and data converted only now, because many operations may
/// be waiting in the queue.
void Operation::begin() {
    if (conversion_ && access_.refused.kind == ErrorKind::none && !stage()) {
        access_.memory = {};
        if (!collective_) return finish({0, access_.refused});
    }
    if (device_) {
        pipe_ = std::make_unique<DevicePipe>(context_, std::move(access_), std::move(*device_),
                                             collective_);
        return;
    }
    run_ = std::make_unique<Run>(context_.next_run(collective_), std::move(access_), collective_);
}

bool Operation::stage() {
    const Bytes bytes = access_.bytes();
    file_ = access_.file;
    from_ = access_.from;
    staging_ = context_.file.buffers.take(std::max<Bytes>(bytes, 1));
    if (staging_.span().empty()) {
        access_.refused = Error::make(ErrorKind::no_memory, kNoStaging);
        return false;
    }
    access_.buffer = staging_.span().data();
    if (direction_ == Direction::read) return true;
    const Error error =
        conversion_->to_file(user_, staging_.span().first(static_cast<std::size_t>(bytes)));
    if (error.kind != ErrorKind::none) access_.refused = error.on(rank());
    return access_.refused.kind == ErrorKind::none;
}

/// Steps the operation. If memory runs out, an independent operation ends with an error. A
/// collective operation passes the exception on instead, and bind/ ends the job, because the other
/// ranks would wait for this rank forever.
void Operation::step(int moves) {
    try {
        step_on(moves);
    } catch (const std::bad_alloc&) {
        if (collective_) throw;
        finish({0, Error::make(ErrorKind::no_memory, "access: out of memory during the access")});
    }
}

void Operation::step_on(int moves) {
    context_.traced.work();
    if (!run_ && !pipe_) begin();
    if (done()) return;
    if (pipe_) {
        if (pipe_->step(moves)) finish(pipe_->outcome());
        return;
    }
    if (run_->step(moves)) end_run();
}

/// Ends a run. If other ranks still have pieces of device memory to move, this rank takes part in
/// those pieces without data.
void Operation::end_run() {
    outcome_.bytes += run_->outcome().bytes;
    outcome_.error = run_->outcome().error;
    if (run_->goes_on()) {
        run_ =
            std::make_unique<Run>(context_.next_run(collective_), without_data(direction_), true);
        return;
    }
    Outcome outcome = outcome_;
    if (conversion_ && !staging_.span().empty()) give_to_user(outcome);
    finish(std::move(outcome));
}

/// Ends an access with conversion: counts bytes of the user's memory in place of the file's; for a
/// read, also converts the data and stores it in the user's memory.
void Operation::give_to_user(Outcome& outcome) {
    if (direction_ == Direction::write) {
        outcome.bytes = conversion_->memory_part({0, outcome.bytes}).length();
    } else {
        convert_what_was_read(outcome);
    }
}

/// Converts the data of a read. If the file ends inside the access and tiles interleave, the data
/// read is not the beginning of the access's data: it is the data that lies before the end of the
/// file. After an error it is unknown which part of the staged memory was filled, so none of it is
/// converted unless all of it was filled.
void Operation::convert_what_was_read(Outcome& outcome) {
    const auto staged = std::as_bytes(staging_.span());
    const Bytes all = conversion_->file_bytes();
    const bool unknown = outcome.error.kind != ErrorKind::none && outcome.bytes < all;
    const Bytes read = unknown ? 0 : outcome.bytes;
    Bytes given = 0;
    Error error;
    each_part_before_end(file_, {from_, from_ + all}, read, [&](Extent part) {
        part = {part.begin - from_, part.end - from_};
        given += conversion_->memory_part(part).length();
        if (error.kind != ErrorKind::none) return;
        error = conversion_->to_memory(staged.subspan(static_cast<std::size_t>(part.begin),
                                                      static_cast<std::size_t>(part.length())),
                                       part.begin, user_);
    });
    outcome.bytes = given;
    if (outcome.error.kind == ErrorKind::none && error.kind != ErrorKind::none)
        outcome.error = error.on(rank());
}

void Operation::finish(Outcome outcome) {
    outcome_ = std::move(outcome);
    run_.reset();
    pipe_.reset();
    entered_.reset();
    conversion_.reset();
    staging_ = {};
    context_.file.stats.count_access(outcome_.bytes, direction_ == Direction::write);
    context_.traced.end(outcome_.bytes, outcome_.error.kind);
    context_.observer->ended(outcome_);
    done_.store(true, std::memory_order_release);
}

std::optional<WaitHint> Operation::waits_for() const {
    if (pipe_) return pipe_->waits_for();
    return run_ ? run_->waits_for() : std::nullopt;
}

bool Operation::fit_for_helper() const {
    if (conversion_) return false;
    const bool sends = (run_ && run_->sends_messages()) || (pipe_ && pipe_->sends_messages());
    return !collective_ || (context_.file.transport.in_memory() && !sends);
}

}  // namespace oratorio
