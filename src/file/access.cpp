// SPDX-License-Identifier: BSD-3-Clause
// Turns a call into an access: describe() checks the arguments, place() finds the place in the view
// and moves the file pointer. An access that is one contiguous piece is moved at once, without a
// plan (move_one_piece); any other access becomes an Operation (enqueue). In a collective call an
// error is recorded in the Access instead of returned early, because the other ranks count on this
// rank.
#include <algorithm>
#include <cerrno>

#include "file/path.hpp"
#include "file/state.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

Error check_mode(const AccessMode& mode, const AccessCall& call) {
    if (mode.sequential && call.at != Positioning::shared) {
        return Error::make(ErrorKind::unsupported_operation,
                           "access: a sequential file has only the shared pointer");
    }
    if (call.direction == Direction::read && !mode.readable()) {
        return Error::make(ErrorKind::access, "read: the file is open for writing only");
    }
    if (call.direction == Direction::write && !mode.writable()) {
        return Error::make(ErrorKind::read_only, "write: the file is open for reading only");
    }
    return {};
}

/// Returns how many etypes `bytes` bytes are, or why they can't be accessed.
Result<Offset> etypes_of(Bytes bytes, const View& view) {
    if (bytes == INT64_MAX)
        return Error::make(ErrorKind::count, "access: count times datatype is too large");
    if (bytes == 0) return Offset{0};
    if (view.etype_size == 0 || bytes % view.etype_size != 0) {
        return Error::make(ErrorKind::argument, "access: the data is not a whole number of etypes");
    }
    return bytes / view.etype_size;
}

/// Records why the access is refused, unless an earlier error is recorded already.
void refuse(Access& access, const Error& error) {
    if (access.refused.kind == ErrorKind::none) access.refused = error;
}

/// Returns true if the data was moved. An access counts as not moved if the system refused to touch
/// its memory (EFAULT), as it refuses memory of a device.
bool has_moved(bool moved, const Outcome& outcome) {
    return moved && outcome.error.system_errno != EFAULT;
}

Layout one_run(Bytes bytes) {
    return Layout{Shape::run(bytes), bytes, 0, 1};
}

}  // namespace

std::shared_ptr<const Agreed<PlanConfig>> File::State::current_config() {
    if (terms != nullptr) return terms;
    const auto make = [](const Hints& given, const Found& found, const Nodes& nodes,
                         const AgentFacts& shipped_to) {
        PlanConfig made;
        made.options = given.plan;
        if (found.striping.unit > 0) made.options.striping_unit = found.striping.unit;
        // With lazy open, collective buffering is preferred, so that ranks that aren't aggregators
        // needn't open the file.
        if (given.no_independent_access) {
            if (given.plan.cb_read == Toggle::automatic) made.options.cb_read = Toggle::enable;
            if (given.plan.cb_write == Toggle::automatic) made.options.cb_write = Toggle::enable;
        }
        made.facts.coherent = nodes.one_node();
        made.facts.alone = nodes.size == 1;
        made.facts.ranks_of_machine = nodes.ranks_of_node_most() * nodes.nodes_of_machine;
        made.facts.cores_of_machine = nodes.cores;
        made.facts.local_file_system = is_local(found.file_system);
        made.facts.mappable = found.mappable;
        made.facts.asynchronous =
            found.store == StoreChoice::uring || found.store == StoreChoice::thread;
        made.facts.costs = nodes.nodes_of_machine > 1 ? on_one_machine(found.costs) : found.costs;
        made.facts.agents = shipped_to;
        // Some rank can't read its store, so no method may fill holes: data sieving and collective
        // buffering of writes are off.
        if (!found.holes_readable) {
            made.options.cb_write = made.options.ds_write = Toggle::disable;
            made.options.method = nullptr;
        }
        return made;
    };
    terms = std::make_shared<const Agreed<PlanConfig>>(
        agreed_from(make, hints, opened.found, nodes_of(*transport), agent_facts));
    return terms;
}

RunContext File::State::context(const TracedAccess& traced) {
    return {.transport = *transport,
            .store = store.get(),
            .config = current_config(),
            .stats = engine.stats,
            .buffers = engine.buffers,
            .begun = &engine.collectives,
            .observer = this,
            .node = &engine.node,
            .plans = &engine.plans,
            .io_thread = &engine.io_thread,
            .lock_policy = &engine.lock_policy,
            .undelivered = &engine.undelivered,
            .agents = agents.get(),
            .traced = traced};
}

TracedAccess File::State::record(const AccessCall& call, bool started) {
    Recorder& recorder = tracing->recorder();
    if (recorder.full()) {
        recorder.skip();
        if (recorder.idle()) engine.stats.stop_recording(opened.found->account);
        return TracedAccess(recorder);
    }
    AccessRecord mine;
    mine.begin = Recorder::now();
    mine.collective = call.collective ? 0 : -1;
    mine.direction = call.direction;
    mine.started = started;
    mine.shared = call.at == Positioning::shared;
    return {recorder, mine};
}

void File::State::planned(const Plan& plan) {
    if (tracing != nullptr) tracing->planned(plan);
    if (!opened.explain) return;
    const std::string& representation = place.view.representation;
    const bool converts = representation != "native" && representation != "internal";
    const std::string as =
        converts ? "  conversion   the file has " + representation + "\n" : std::string();
    opened.messages.say_done(opened.path,
                             {explain(plan) + as, fingerprint(plan) + as,
                              plan_members(plan, converts ? representation : std::string())});
}

void File::State::tell_moved_at_once(const Access& access, bool collective) {
    if (!opened.explain) return;
    const std::string why = "one piece of the file, moved at once; there is nothing to plan";
    const std::string text = std::string(collective ? "collective " : "independent ") +
                             name_of(access.direction) + ": " + why + "\n";
    opened.messages.say_done(opened.path,
                             {text, text, unplanned_members(access.direction, collective, why)});
}

void File::State::remark(const std::string& sentence) {
    opened.messages.warn(sentence);
}

/// Returns where the access begins, in etypes. Collective for an ordered access (all ranks with the
/// shared file pointer). With the shared file pointer this call may also write the data, or gather
/// it, if there is little of it: see Placed::moved.
Result<Offset> File::start_of(const AccessCall& call, Placed& placed) {
    if (call.at == Positioning::explicit_offset) return call.offset;
    if (call.at == Positioning::individual) return state_->place.position;
    if (!call.collective && state_->is_gathered(call, placed)) return state_->append(placed);
    if (!call.collective) return state_->transport->fetch_add(placed.etypes);
    settle();
    return state_->claim_in_order(placed);
}

/// Lets an access with memory of a device go through bounce buffers in the host's memory: in pieces
/// if neither conversion nor atomic mode needs all data at once, else as a whole, like data that is
/// converted. Returns false, and does nothing, if none of the memory is a device's.
bool File::State::stage(AccessCall& call, Placed& placed) {
    Access& access = placed.access;
    if (access.refused.kind != ErrorKind::none) return false;
    DeviceDriver* const driver = opened.devices->owner_of(access.buffer, access.memory);
    if (driver == nullptr) return false;
    DeviceMemory memory{driver, access.buffer, std::move(access.memory)};
    access.memory = one_run(memory.layout.size());
    placed.may_move = false;
    const bool in_pieces = !call.conversion && !hints->plan.atomic;
    if (opened.explain)
        opened.messages.warn(opened.path + ": memory of a device (" + driver->name() +
                             "): " + (in_pieces ? "in pieces" : "each access as a whole") +
                             " by way of the host's memory");
    if (in_pieces)
        placed.device.emplace(std::move(memory));
    else
        call.conversion = stage_whole(std::move(memory), std::move(call.conversion));
    return true;
}

/// Looks for device drivers if describe() did not, and stages the access if its memory is a
/// device's. Returns true if it did so: the access is still to be moved. Called for data that our
/// own code is about to copy, which must not touch device memory, and for data that the system
/// refused because it can't reach the memory. A driver may have been loaded since the last look.
bool File::State::stage_late(AccessCall& call, Placed& placed) {
    if (opened.devices == nullptr || placed.looked || call.conversion || placed.device)
        return false;
    opened.devices->look();
    return opened.devices->any() && stage(call, placed);
}

/// Returns what a call asks for, before the place of its data in the file is known. Takes over the
/// call's memory layout. Does no I/O and sends no messages.
File::Placed File::describe(AccessCall& call, bool may_move) const {
    const State& state = *state_;
    const View& view = state.place.view;
    Placed placed{
        .access = {call.direction, view.file, 0, std::move(call.memory), call.buffer, call.refused},
        .etypes = 0,
        .device = {},
        .looked = false,
        .may_move = may_move && !call.conversion,
        .moved = {}};
    if (Devices* const devices = state.opened.devices; devices != nullptr) {
        // An access with the shared file pointer, with conversion or of several ranks looks for
        // drivers here, because its data may travel while the ranks agree on places, before
        // stage_late().
        placed.looked = call.at == Positioning::shared || call.conversion ||
                        (call.collective && state.transport->topology().size > 1);
        if (placed.looked) devices->look();
        if (devices->any()) (void)state_->stage(call, placed);
    }
    Access& access = placed.access;
    if (call.conversion && call.refused.kind == ErrorKind::none)
        access.memory = one_run(call.conversion->file_bytes());
    refuse(access, check_mode(mode(), call));
    if (call.collective) refuse(access, state.ready());
    if (call.collective && state.split) {
        refuse(access,
               Error::make(ErrorKind::other,
                           "access: a split collective on this file has begun and not ended"));
    }
    const auto asked = etypes_of(access.memory.size(), view);
    if (!asked) refuse(access, asked.error());
    if (!access.memory.fits()) {
        refuse(access, Error::make(ErrorKind::count,
                                   "access: count times the datatype's extent is too large"));
    }
    placed.etypes = access.refused.kind == ErrorKind::none ? *asked : 0;
    return placed;
}

/// Describes a call and finds its place in the file. Writes gathered records first (write-behind),
/// unless this call adds a record to them. Moves the shared file pointer, and may move small data
/// along with it (Placed::moved).
File::Placed File::place(AccessCall& call, bool may_move) {
    State& state = *state_;
    const View& view = state.place.view;
    if (call.collective && call.direction == Direction::write) {
        state.written_together = true;
        state.written_apart = state.written_apart || asks_for_edges(state.hints->plan);
    }
    Placed placed = describe(call, may_move);
    Access& access = placed.access;
    if (!state.is_gathered(call, placed)) {
        if (auto written = state.write_gathered(); !written) refuse(access, written.error());
    }
    if (access.refused.kind != ErrorKind::none && !call.collective) return placed;
    const auto start = start_of(call, placed);
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
    return placed;
}

/// Returns true if the access has contiguous memory and asks for no more than to move it: no atomic
/// mode, no method by hint, no independent access queued before it.
bool File::State::is_plain(const Access& access) const {
    return access.bytes() > 0 && access.has_one_memory_piece() && !hints->plan.atomic &&
           hints->plan.method == nullptr && queues.independent.empty();
}

/// Returns true if the access is plain and one contiguous piece of the file, wherever it begins.
bool File::State::is_one_piece(const Access& access) const {
    return is_plain(access) && access.is_one_piece();
}

/// Returns where a plain access lies in the file, if it is one piece there.
std::optional<Offset> File::State::place_of_one_piece(const Access& access) const {
    if (is_one_piece(access)) return access.file.origin + access.from;
    // The search isn't worth its time if the pieces of the view are shorter, on average, than half
    // the access.
    const Shape& shape = *access.file.shape;
    if (!is_plain(access) || access.bytes() > 2 * (shape.size() / shape.pieces()))
        return std::nullopt;
    Cursor cursor(access.file);
    cursor.seek_size(access.from);
    const StridedRun run = cursor.next(access.bytes());
    if (run.count != 1 || run.length != access.bytes()) return std::nullopt;
    return run.offset;
}

Transferred File::State::move_now(Direction direction, Offset offset,
                                  std::span<const iovec> memory) {
    if (auto ready = store->prepare(); !ready) return {.error = ready.error()};
    RangeLock held;
    if (direction == Direction::write) {
        const Extent range{offset, offset + length_of(memory)};
        auto shared = engine.lock_policy.share(*store, range, false);
        if (!shared) return {.error = shared.error()};
        held = std::move(*shared);
    }
    Transferred done = Transfer(*store, &engine.stats).move(direction, offset, memory);
    if (const auto unlocked = held.give_back(); !unlocked && done.error.kind == ErrorKind::none)
        done.error = unlocked.error();
    return done;
}

/// Moves an access of one piece by this rank alone: there is nothing to plan. (A program that
/// appends small records with the shared file pointer makes no other accesses.) A collective access
/// moves this way only if it is small and the file has one rank; a larger one gets a plan even
/// there.
bool File::State::move_one_piece(const Access& access, bool collective, Outcome& outcome) {
    const bool alone = transport->topology().size == 1 && queues.collective.empty();
    if (collective && !(alone && access.bytes() <= kSmallAccess)) return false;
    const auto offset = place_of_one_piece(access);
    if (!offset) return false;
    const iovec piece{access.buffer + access.memory.origin,
                      static_cast<std::size_t>(access.bytes())};
    const Transferred done = move_now(access.direction, *offset, std::span(&piece, 1));
    tell_moved_at_once(access, collective);
    outcome.bytes = done.bytes;
    if (done.error.kind != ErrorKind::none)
        outcome.error = done.error.on(transport->topology().rank);
    return true;
}

OperationPtr File::enqueue(const AccessCall& call, Placed placed, const TracedAccess& traced) {
    State& state = *state_;
    Access& access = placed.access;
    const bool moves_data = access.memory.count > 0;
    const RunContext context = state.context(traced);
    auto operation =
        moves_data && placed.device
            ? std::make_shared<Operation>(context, std::move(access), call.collective,
                                          std::move(*placed.device))
            : std::make_shared<Operation>(context, std::move(access), call.collective,
                                          moves_data ? call.conversion : nullptr, call.buffer);
    if (placed.moved) operation->finish(*placed.moved);
    auto& queue = call.collective ? state.queues.collective : state.queues.independent;
    if (!operation->done()) queue.push_back(operation);
    return operation;
}

OperationPtr File::start(AccessCall call) {
    const TracedAccess traced = state_->trace(call, true);
    Placed placed = place(call, false);
    if (state_->tracing != nullptr) state_->tracing->describe(traced, placed.access);
    if (call.at == Positioning::individual) state_->place.position += placed.etypes;
    const bool at_once =
        !call.conversion && !placed.device && placed.access.bytes() <= kSmallAccess;
    Outcome outcome;
    const bool moved = at_once && state_->move_one_piece(placed.access, call.collective, outcome);
    const bool late = !has_moved(moved, outcome) && state_->stage_late(call, placed);
    if (moved && !late) placed.moved = outcome;
    return enqueue(call, std::move(placed), traced);
}

Outcome File::access(AccessCall call) {
    Stats& stats = state_->engine.stats;
    const Timing timing(&stats, &Stats::access_time);
    const TracedAccess traced = state_->trace(call, false);
    Placed placed = place(call, true);
    if (state_->tracing != nullptr) state_->tracing->describe(traced, placed.access);
    Outcome outcome;
    bool moved = placed.moved.has_value();
    if (moved) {
        outcome = *placed.moved;
    } else if (placed.may_move) {
        moved = state_->move_one_piece(placed.access, call.collective, outcome);
    }
    if (!has_moved(moved, outcome) && state_->stage_late(call, placed)) moved = false;
    if (moved) {
        stats.count_access(outcome.bytes, call.direction == Direction::write);
        traced.end(outcome.bytes, outcome.error.kind);
    } else {
        outcome = finish(enqueue(call, std::move(placed), traced));
    }
    if (call.at == Positioning::individual && outcome.error.kind == ErrorKind::none)
        state_->place.position += placed.etypes;
    return outcome;
}

}  // namespace oratorio
