// SPDX-License-Identifier: BSD-3-Clause
// Turns a call into an access (begin): describe() checks the arguments, claim() moves the shared
// file pointer, place() finds the place in the view. An access that is one contiguous piece may be
// moved at once, without a plan; any other access becomes an Operation (enqueue). In a collective
// call an error is recorded in the Access instead of returned early, because the other ranks wait
// for this rank to take part.
#include <cerrno>

#include "file/access_explainer.hpp"
#include "file/ordered.hpp"
#include "file/placed_access.hpp"
#include "file/state.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

Error check_mode(const AccessMode& mode, const AccessCall& call) {
    if (mode.sequential && call.at != Positioning::shared) {
        return Error::make(
            ErrorKind::unsupported_operation,
            "access: a file opened for sequential access has only the shared file pointer");
    }
    if (call.direction == Direction::read && !mode.readable()) {
        return Error::make(ErrorKind::access, "read: the file is open for writing only");
    }
    if (call.direction == Direction::write && !mode.writable()) {
        return Error::make(ErrorKind::read_only, "write: the file is open for reading only");
    }
    return {};
}

/// Returns the number of etypes in `bytes` bytes of the file. Fails if the number isn't whole, or
/// if there are more bytes than a file can have.
Result<Offset> etypes_of(Bytes bytes, const View& view) {
    if (bytes > kOffsetLimit)
        return Error::make(ErrorKind::count,
                           "access: count times the size of the datatype is too large");
    if (bytes == 0) return Offset{0};
    if (view.etype_size == 0 || bytes % view.etype_size != 0) {
        return Error::make(ErrorKind::argument, "access: the data is not a whole number of etypes");
    }
    return bytes / view.etype_size;
}

/// Refuses the access if `error` is set. An access that was refused before keeps its first error.
void refuse(Access& access, const Error& error) {
    if (error.kind != ErrorKind::none && access.refused.kind == ErrorKind::none)
        access.refused = error;
}

/// Places an access that begins at `start`, in etypes of the view. Refuses it if `start` is an
/// error, or if its data would lie outside the range of file offsets.
void place(PlacedAccess& placed, const View& view, const Result<Offset>& start) {
    Access& access = placed.access;
    if (!start) {
        refuse(access, start.error());
    } else if (const auto from = view.data_position(*start, access.memory.size())) {
        access.from = *from;
    } else {
        refuse(access,
               Error::make(ErrorKind::argument,
                           "access: the offset is negative or past the largest file offset, 2^62"));
    }
    if (access.refused.kind != ErrorKind::none) placed.etypes = 0;
    if (view.file.shape->size() == 0 || access.bytes() == 0) access.memory = Layout{};
}

}  // namespace

/// The state of a call that has begun: its access has a place, and its data may already have been
/// moved.
struct File::Begun {
    bool waits = false;    ///< the caller waits for the outcome
    Nanoseconds time = 0;  ///< when the call began, if this rank explains accesses
    TracedAccess traced;
    PlacedAccess placed;
    Outcome& outcome;    ///< where the outcome of a moved access goes
    bool moved = false;  ///< the access was moved: `outcome` is valid
    /// Returns true if the data was moved. An access counts as not moved if the system refused to
    /// touch its memory (EFAULT), as it refuses memory of a device.
    [[nodiscard]] bool has_data_moved() const {
        return moved && outcome.error.system_errno != EFAULT;
    }
};

AccessExplainer File::explainer(const AccessCall& call, const Begun& begun) {
    State& state = *state_;
    return {state.opened,
            state.place.view,
            state.messages,
            state.trace,
            {.begin = begun.time,
             .asked = call.conversion ? 0 : begun.placed.access.bytes(),
             .started = !begun.waits}};
}

OperationContext File::operation_context(const AccessCall& call, const Begun& begun) {
    State& state = *state_;
    return {.file = *state.shared,
            .config = state.hints.config(state.opened.found, state.transport, state.agents.facts(),
                                         state.tuning.learned()),
            .numbers = state.workspace->numbers,
            .traced = begun.traced,
            .observer = std::make_shared<AccessExplainer>(explainer(call, begun))};
}

/// Returns what a call asks for, before the place of its data in the file is known. Takes over the
/// call's memory layout. Does no I/O and sends no messages.
PlacedAccess File::describe(AccessCall& call) const {
    const State& state = *state_;
    const View& view = state.place.view;
    PlacedAccess placed{
        .access = {call.direction, view.file, 0, std::move(call.memory), call.buffer, call.refused},
        .etypes = 0,
        .device = {},
        .looked_for_devices = false};
    Access& access = placed.access;
    refuse(access, check_mode(mode(), call));
    if (call.collective) refuse(access, state.ready());
    if (call.collective && state.split) {
        refuse(
            access,
            Error::make(
                ErrorKind::other,
                "access: a split collective on this file has begun and not ended; end it first"));
    }
    const Bytes bytes = call.conversion ? call.conversion->file_bytes() : access.memory.size();
    const auto asked = etypes_of(bytes, view);
    if (!asked) refuse(access, asked.error());
    if (!access.memory.fits()) {
        refuse(access, Error::make(ErrorKind::count,
                                   "access: count times the datatype's extent is too large"));
    }
    placed.etypes = access.refused.kind == ErrorKind::none ? *asked : 0;
    // Looks for device drivers here if stage_late() would come too late or leave the access alone:
    // claim() may move data with the shared file pointer, and stage_late() skips accesses with
    // conversion. Other collective accesses of several ranks are never moved at once, so
    // stage_late() would always look for drivers.
    state_->staging.stage(call, placed,
                          call.at == Positioning::shared || call.conversion ||
                              (call.collective && state.transport.topology().size > 1));
    if (call.conversion && access.refused.kind == ErrorKind::none)
        access.memory = Layout{Shape::run(bytes), bytes, 0, 1};
    return placed;
}

/// Returns true if this rank may move the data of the access without a plan, provided that it is
/// one piece of the file: there is data, in few pieces of memory; none of it needs conversion or is
/// on a device; and there is no atomic mode, no method named by a hint, and no independent access
/// in the queue. If the caller doesn't wait, the access must also be small.
bool File::is_plain(const AccessCall& call, const Begun& begun) const {
    const PlacedAccess& placed = begun.placed;
    const Access& access = placed.access;
    const Bytes bytes = access.bytes();
    return !call.conversion && !placed.device && (begun.waits || bytes <= kSmallAccess) &&
           bytes > 0 && has_few_memory_pieces(access) && state_->may_skip_plan();
}

/// Returns true if write-behind gathers the data of the call as a record.
bool File::gathers(const AccessCall& call, const Begun& begun) const {
    return state_->records.on() && call.at == Positioning::shared && !call.collective &&
           begun.waits && call.direction == Direction::write && is_plain(call, begun) &&
           begun.placed.access.is_one_piece();
}

/// Returns where the access begins, in etypes, and advances the shared file pointer if the call
/// uses it. May gather or write the data of a small write with the shared file pointer in the same
/// step. Collective if the call is collective and uses the shared file pointer (an ordered access).
Result<Offset> File::claim(const AccessCall& call, Begun& begun) {
    State& state = *state_;
    if (call.at == Positioning::explicit_offset) return call.offset;
    if (call.at == Positioning::individual) return state.place.position;
    const PlacedAccess& placed = begun.placed;
    if (!call.collective && gathers(call, begun)) {
        const auto start =
            state.records.append(placed.access, placed.etypes, state.place.view, begun.moved);
        if (begun.moved) begun.outcome = {placed.access.bytes(), {}};
        return start;
    }
    if (!call.collective) return state.transport.counter().fetch_add(placed.etypes);
    settle_together();
    if (const Error failed = state.late.take_failure(); failed.kind != ErrorKind::none)
        return after_failed_read(failed);
    return claim_ordered(call, begun);
}

Result<Offset> File::claim_ordered(const AccessCall& call, Begun& begun) {
    State& state = *state_;
    const PlacedAccess& placed = begun.placed;
    const Access& access = placed.access;
    const bool free = begun.waits && !call.conversion && !placed.device;
    const bool brings = free && access.direction == Direction::write &&
                        access.refused.kind == ErrorKind::none &&
                        (access.bytes() == 0 || (is_plain(call, begun) && access.is_one_piece()));
    auto claimed = claim_in_order(state.transport, state.place.view, access, placed.etypes, brings,
                                  [&](Offset offset, std::span<const iovec> memory) {
                                      return state.move_now(Direction::write, offset, memory);
                                  });
    if (!claimed) return claimed.error();
    begun.moved = claimed->moved.has_value();
    if (begun.moved) begun.outcome = *claimed->moved;
    if (begun.moved && state.messages.explains())
        state.messages.say(state.opened.path +
                           ": ordered write of small data: the last rank to arrive "
                           "wrote all of it in one call");
    return claimed->start;
}

/// Returns the offset in the file of an access that this rank can move at once, without a plan.
/// Returns nothing if the access must become an operation, which is planned when its turn in the
/// queue comes. A collective access is moved at once only if it is small, the file has one rank,
/// and no collective access is queued.
std::optional<Offset> File::place_at_once(const AccessCall& call, const Begun& begun) const {
    const Access& access = begun.placed.access;
    if (call.collective) {
        const bool alone =
            state_->transport.topology().size == 1 && state_->queues.collective.empty();
        if (!alone || access.bytes() > kSmallAccess) return std::nullopt;
    }
    return is_plain(call, begun) ? place_of_one_piece(access.file, access.from, access.bytes())
                                 : std::nullopt;
}

void File::move_at_once(const AccessCall& call, Offset offset, Begun& begun) {
    const Access& access = begun.placed.access;
    const MemoryPieces memory(access);
    const Transferred done = state_->move_now(access.direction, offset, memory.list());
    begun.moved = true;
    begun.outcome.bytes = done.bytes;
    if (done.error.kind != ErrorKind::none)
        begun.outcome.error = done.error.on(state_->transport.topology().rank);
    if (state_->messages.explains() && begun.has_data_moved())
        explainer(call, begun).moved_at_once(access.direction, call.collective, begun.outcome);
}

/// Begins a call: describes its access, writes gathered records that the access must not overtake,
/// claims its place, finds that place in the file, and moves the data if that can be done at once.
/// REQUIRES: `outcome` is default-constructed, and outlives the result.
File::Begun File::begin(AccessCall& call, bool waits, Outcome& outcome) {
    State& state = *state_;
    if (call.collective && call.direction == Direction::write)
        state.unsynced.note(asks_for_edges(state.hints->plan));
    Begun begun{.waits = waits,
                .time = state.messages.explains() ? Recorder::now() : 0,
                .traced = state.trace.begin(call, !waits),
                .placed = describe(call),
                .outcome = outcome};
    PlacedAccess& placed = begun.placed;
    if (state.records.on() && !gathers(call, begun)) {
        if (auto written = state.records.write(); !written) {
            refuse(placed.access, written.error());
            placed.etypes = 0;
        }
    }
    if (call.collective || placed.access.refused.kind == ErrorKind::none)
        place(placed, state.place.view, claim(call, begun));
    state.trace.describe(begun.traced, placed.access);
    if (!begun.moved) {
        if (const auto offset = place_at_once(call, begun)) move_at_once(call, *offset, begun);
    }
    if (!begun.has_data_moved() && state.staging.stage_late(call, placed)) begun.moved = false;
    return begun;
}

/// Moves the access into an operation, and queues the operation unless it is done already.
OperationPtr File::enqueue(const AccessCall& call, Begun& begun) {
    State& state = *state_;
    PlacedAccess& placed = begun.placed;
    Access& access = placed.access;
    const bool moves_data = access.memory.count > 0;
    const OperationContext context = operation_context(call, begun);
    auto operation =
        moves_data && placed.device
            ? std::make_shared<Operation>(context, std::move(access), call.collective,
                                          std::move(*placed.device))
            : std::make_shared<Operation>(context, std::move(access), call.collective,
                                          moves_data ? call.conversion : nullptr, call.buffer);
    if (begun.moved) operation->finish(begun.outcome);
    auto& queue = call.collective ? state.queues.collective : state.queues.independent;
    if (!operation->done()) queue.push_back(operation);
    return operation;
}

OperationPtr File::start(AccessCall call) {
    Outcome outcome;
    Begun begun = begin(call, false, outcome);
    if (call.at == Positioning::individual) state_->place.position += begun.placed.etypes;
    return enqueue(call, begun);
}

/// Makes a small independent access that is one contiguous range in memory and in the file, and
/// sets its outcome. Such accesses are the most frequent ones, and their time is not much longer
/// than that of the storage call. Returns false for every other access and for every wrong call:
/// the caller then begins the access in the general way, which also finds what is wrong. Memory
/// that the system can't reach (EFAULT) counts as another access, because it may be a device's.
/// REQUIRES: `outcome` is default-constructed.
bool File::access_one_range(const AccessCall& call, Outcome& outcome) {
    State& state = *state_;
    const View& view = state.place.view;
    const Layout& memory = call.memory;
    const AccessMode& mode = state.opened.mode;
    const bool writes = call.direction == Direction::write;
    if (call.collective || call.at == Positioning::shared || call.conversion ||
        call.refused.kind != ErrorKind::none || mode.sequential ||
        !(writes ? mode.writable() : mode.readable()) || !state.may_move_now())
        return false;
    const Bytes bytes = memory.size();
    if (bytes == 0 || bytes > kSmallAccess || !memory.is_one_run() ||
        view.file.shape->size() == 0 || bytes % view.etype_size != 0)
        return false;
    const bool here = call.at == Positioning::individual;
    const auto from = view.data_position(here ? state.place.position : call.offset, bytes);
    const auto offset = from ? place_of_one_piece(view.file, *from, bytes) : std::nullopt;
    if (!offset) return false;
    const iovec piece{call.buffer + memory.origin, static_cast<std::size_t>(bytes)};
    outcome.bytes = bytes;
    if (!state.move_piece(call.direction, *offset, piece)) {
        const Transferred done = state.move_now(call.direction, *offset, std::span(&piece, 1));
        outcome.bytes = done.bytes;
        if (done.error.kind != ErrorKind::none)
            outcome.error = done.error.on(state.transport.topology().rank);
    }
    if (outcome.error.system_errno == EFAULT) {
        outcome = {};
        return false;
    }
    state.stats.count_access(outcome.bytes, writes);
    if (here && outcome.error.kind == ErrorKind::none)
        state.place.position += bytes / view.etype_size;
    return true;
}

Outcome File::access(AccessCall call) {
    Stats& stats = state_->stats;
    const Timing timing(&stats, &Stats::access_time);
    Outcome outcome;
    if (access_one_range(call, outcome)) return outcome;
    Begun begun = begin(call, true, outcome);
    if (begun.moved) {
        stats.count_access(outcome.bytes, call.direction == Direction::write);
        begun.traced.end(outcome.bytes, outcome.error.kind);
    } else {
        outcome = finish(enqueue(call, begun));
    }
    if (call.at == Positioning::individual && outcome.error.kind == ErrorKind::none)
        state_->place.position += begun.placed.etypes;
    return outcome;
}

}  // namespace oratorio
