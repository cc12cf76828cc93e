// SPDX-License-Identifier: BSD-3-Clause
// The queues of the collective and of the independent operations under way on a file: the
// operations of a queue are stepped one after the other. Split collectives are here as well.
#include <utility>

#include "file/state.hpp"

namespace oratorio {

namespace {

// Maximum number of work steps of an operation in one call of progress(), which doesn't wait for
// the outcome and must soon let other threads use the file.
constexpr int kMovesAtOnce = 4;

void drop_done(std::deque<OperationPtr>& queue) {
    while (!queue.empty() && queue.front()->done()) queue.pop_front();
}

/// Steps the operations of the queue until it is empty or `last` is done.
void run_until(std::deque<OperationPtr>& queue, const OperationPtr& last, Transport& transport,
               Stats& stats) {
    for (;;) {
        drop_done(queue);
        if (queue.empty() || (last && last->done())) return;
        Operation& first = *queue.front();
        first.step(INT_MAX);
        const auto rest = first.done() ? std::nullopt : first.waits_for();
        if (!rest) continue;
        const Timing timing(&stats, &Stats::wait_time);
        transport.idle(*rest);
    }
}

}  // namespace

Progress File::progress(Mover mover) {
    Progress progress;
    bool more = false;
    for (auto* queue : {&state_->queues.collective, &state_->queues.independent}) {
        drop_done(*queue);
        if (queue->empty()) continue;
        Operation& first = *queue->front();
        if (mover == Mover::helper && !first.fit_for_helper()) {
            progress.any = true;
            continue;
        }
        progress.pending = true;
        first.step(kMovesAtOnce);
        progress.any = progress.any || !first.done() || queue->size() > 1;
        const auto rest = first.done() ? std::nullopt : first.waits_for();
        more = more || !rest;
        if (!progress.rest) progress.rest = rest;
    }
    if (more) progress.rest = std::nullopt;
    return progress;
}

Outcome File::finish(const OperationPtr& operation) {
    State& state = *state_;
    Stats& stats = state.stats;
    run_until(state.queues.independent, operation, state.transport, stats);
    if (!operation->done()) run_until(state.queues.collective, operation, state.transport, stats);
    // A requested feature may turn out to be unavailable only when it is first used.
    if (state.store != nullptr && !state.store->limits().remark.empty())
        state.messages.warn(state.store->limits().remark);
    if (state.io_thread.store() == nullptr) return operation->outcome();
    if (const std::string remark = state.io_thread.limits().remark; !remark.empty())
        state.messages.warn(remark);
    return operation->outcome();
}

void File::settle() {
    Stats& stats = state_->stats;
    run_until(state_->queues.collective, nullptr, state_->transport, stats);
    run_until(state_->queues.independent, nullptr, state_->transport, stats);
}

void File::settle_together() {
    State& state = *state_;
    settle();
    if (!state.shared) return;
    while (state.late.step(*state.shared) != Step::done) {
        const Timing timing(&state.stats, &Stats::wait_time);
        state.transport.idle(state.transport.wait_hint());
    }
}

/// Begins a split collective. A rank with a refused call still takes part, without data, because
/// the other ranks wait for it.
Result<void> File::begin_split(const AccessCall& call) {
    const OperationPtr operation = start(call);
    if (state_->split) {
        return Error::make(
            ErrorKind::other,
            "split collective: another one on this file has begun and not ended; end it first");
    }
    state_->split = State::Split{operation, call.direction, call.at, call.buffer};
    return {};
}

/// Ends a split collective. A call that doesn't match the begin call also ends the access, because
/// the ranks with a matching call wait for this rank; afterwards the file can be used again.
Outcome File::end_split(Direction direction, Positioning at, const std::byte* buffer) {
    const auto split = std::exchange(state_->split, std::nullopt);
    if (!split) {
        return {0, Error::make(ErrorKind::other, "split collective: none has begun on this file")};
    }
    Outcome outcome = finish(split->operation);
    if (outcome.error.kind != ErrorKind::none) return outcome;
    if (split->direction != direction || split->at != at) {
        outcome.error = Error::make(
            ErrorKind::other, "split collective: the begin call started another kind of access");
    } else if (split->buffer != buffer) {
        outcome.error =
            Error::make(ErrorKind::argument,
                        "split collective: the buffer differs from that of the begin call");
    }
    return outcome;
}

}  // namespace oratorio
