// SPDX-License-Identifier: BSD-3-Clause
#include "file/file.hpp"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

#include "comm/shared_segment.hpp"
#include "file/path.hpp"
#include "file/state.hpp"
#include "file/striping_advice.hpp"
#include "plan/aggregators.hpp"
#include "plan/learning_text.hpp"
#include "plan/methods.hpp"
#include "store/allocate.hpp"

namespace oratorio {

namespace {

/// Returns a hash of a string (FNV-1a). It is equal on all ranks for equal strings.
std::uint64_t hash(std::string_view text) {
    std::uint64_t sum = 14695981039346656037u;
    for (const unsigned char c : text) sum = (sum ^ c) * 1099511628211u;
    return sum;
}

}  // namespace

std::vector<Rank> aggregators_of(const Nodes& topology, const PlanOptions& options) {
    const AbleRanks all = [](Rank) { return true; };
    std::vector<Rank> ranks =
        asks_for_targets(options)
            ? choose_target_aggregators(topology, all, options, kAggregatorsPerNode)
            : choose_aggregators(topology, all, options, INT64_MAX);
    std::ranges::sort(ranks);
    return ranks;
}

Result<void> File::State::take_hints(const HintMap& mine, const HintOrigins& origins,
                                     const std::string& learned) {
    const auto told = hints.take(transport, mine, origins, opened, messages, learned);
    if (!told) return told.error();
    if (auto times = parse_learned(*told)) workspace->learned = std::move(*times);
    locks.policy().sieves = sieves_writes(hints->plan);
    plans.forget();
    return records.resize(hints->shared_write_behind, messages);
}

File::File(std::unique_ptr<State> state) : state_(std::move(state)) {}
File::~File() = default;

Transport& File::transport() {
    return state_->transport;
}
const std::string& File::path() const {
    return state_->opened.path;
}
const std::string& File::location() const {
    return state_->opened.location.path;
}
const AccessMode& File::mode() const {
    return state_->opened.mode;
}
const Hints& File::hints() const {
    return *state_->hints;
}
const View& File::view() const {
    return state_->place.view;
}
const Stats& File::stats() const {
    return state_->stats;
}
bool File::atomicity() const {
    return state_->hints->plan.atomic;
}
Offset File::position() const {
    return state_->place.position;
}

Result<void> File::State::tell_account() {
    messages.tell_repeated(opened.path);
    if (!opened.found->account) return {};
    const auto sums = agree_on_sums(transport, stats.values());
    if (!sums) return sums.error();
    tell_striping();
    std::string text = opened.path + ": closed; totals of all ranks\n";
    const Stats all = Stats::of(**sums);
    if (messages.asks_all()) {
        std::istringstream lines(all.report());
        for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
    } else {
        text += summary_text(all, transport.topology().size);
    }
    messages.sum_up(text, "account", account_members(opened.path, all));
    return {};
}

void File::State::tell_striping() const {
    const Topology& topology = transport.topology();
    if (topology.rank != 0) return;
    if (const auto advice = striping_advice(opened, *hints, topology.nodes()))
        messages.sum_up(opened.path + ": " + advice->sentence() + "\n", "striping",
                        striping_members(opened.path, *advice));
}

/// Collective. Does what close() does, except for the trace.
Result<void> File::close_together() {
    settle_together();
    Transport& ranks = state_->transport;
    const bool deletes = mode().delete_on_close && ranks.topology().rank == 0;
    Error error = state_->unsynced.take_undelivered(ranks);
    if (const Error failed = state_->late.take_failure(); failed.kind != ErrorKind::none)
        error = failed;
    if (auto written = state_->records.write(); !written && error.kind == ErrorKind::none)
        error = written.error();
    if (auto ended = state_->agents.end(); !ended && error.kind == ErrorKind::none)
        error = ended.error();
    // The first rank of each node holds the lock that shows other handles that this one may write
    // (kPresence), for all ranks of its node. So no rank closes the file before all ranks have
    // finished writing.
    if (state_->opened.found->shown_for_others) {
        if (auto met = agree_on_error(ranks, {}); !met) error = met.error();
    }
    if (auto closed = state_->io_thread.close(); !closed && error.kind == ErrorKind::none)
        error = closed.error();
    Error kept;
    if (deletes) kept = state_->opened.check_location();
    if (auto closed = state_->store->close(); !closed && error.kind == ErrorKind::none)
        error = closed.error();
    state_->store.reset();
    state_->keep_times();
    auto outcome = agree_on_error(ranks, error);
    if (auto told = state_->tell_account(); !told && outcome) outcome = told.error();
    if (!mode().delete_on_close) return outcome;
    // All ranks have closed the file by now.
    if (deletes && kept.kind == ErrorKind::none) {
        if (auto removed = remove_file(state_->opened.location.path); !removed)
            kept = removed.error();
    }
    auto removed = agree_on_error(ranks, kept);
    return outcome ? removed : outcome;
}

Result<void> File::close() {
    FileTrace& trace = state_->trace;
    auto outcome = [&] {
        const TracedCall traced(trace, Routine::close);
        return close_together();
    }();
    if (!trace.started()) return outcome;
    const auto told = trace.write(transport(), path(), location(), reported_hints());
    return outcome ? told : outcome;
}

HintMap File::reported_hints() const {
    const FileFindings& found = *state_->opened.found;
    Hints in_use = *state_->hints;
    in_use.store = found.store;
    if (found.striping.unit > 0) in_use.plan.striping_unit = found.striping.unit;
    if (found.striping.targets > 0)
        in_use.plan.striping_factor = static_cast<int>(found.striping.targets);
    HintMap report = report_hints(in_use);
    const std::vector<Rank> aggregators = aggregators_of(state_->transport.topology(), in_use.plan);
    std::string list;
    for (const Rank rank : aggregators) list += (list.empty() ? "" : " ") + std::to_string(rank);
    report["romio_aggregator_list"] = list;
    report["cb_nodes"] = std::to_string(aggregators.size());
    report["romio_filesystem_type"] = std::string(file_system_name(found.file_system)) + ":";
    report["romio_visibility_immediate"] = visible_at_once(found.file_system) ? "true" : "false";
    return report;
}

Result<void> File::set_view(const Result<View>& mine, const HintMap& info) {
    const TracedCall traced(state_->trace, Routine::set_view);
    settle_together();
    Transport& ranks = state_->transport;
    Error error = mine ? state_->ready() : mine.error();
    // New hints may require that the gathered records be written. A failure to write them must be
    // found before the shared file pointer is reset.
    if (auto written = state_->records.write(); !written && error.kind == ErrorKind::none)
        error = written.error();
    if (auto good = agree_on_error(ranks, error); !good) return good.error();
    const std::uint64_t units =
        hash(mine->representation) ^ static_cast<std::uint64_t>(mine->etype_size);
    if (auto same = agree_on_equal(
            ranks, units, "set view: etype size or data representation differs between ranks");
        !same) {
        return same.error();
    }
    // The shared file pointer may be reset now: all ranks have entered, and no rank leaves before
    // the hints are agreed on.
    if (ranks.topology().rank == 0) {
        if (auto set = ranks.counter().set(0); !set) error = set.error();
    }
    if (auto reset = agree_on_error(ranks, error); !reset) return reset.error();
    if (auto taken = state_->take_info(info); !taken) return taken.error();
    state_->place = {*mine, 0};
    return {};
}

Result<void> File::set_hints(const HintMap& info, const Error& refused) {
    settle_together();
    Error error = refused.kind == ErrorKind::none ? state_->ready() : refused;
    // New hints may require that the gathered records be written. A failure to write them must be
    // found before a hint changes.
    if (auto written = state_->records.write(); !written && error.kind == ErrorKind::none)
        error = written.error();
    if (auto good = agree_on_error(state_->transport, error); !good) return good.error();
    return state_->take_info(info);
}

/// Returns true if this rank must set the file's size too, although it may not be rank 0: some
/// node's client may keep the old size until that node sets the size itself (as with MooseFS and
/// SMB), and this is the first rank of its node. All these ranks set the same size, so their order
/// doesn't matter.
bool File::State::resizes_for_node() const {
    const Topology& topology = transport.topology();
    return opened.found->keeps_old_size && first_beside(topology, topology.rank) == topology.rank;
}

Result<void> File::resize(Bytes bytes, bool allocates, std::string_view what_differs) {
    const TracedCall traced(state_->trace, allocates ? Routine::preallocate : Routine::set_size);
    settle_together();
    Transport& ranks = state_->transport;
    Error error;
    if (bytes < 0)
        error = Error::make(ErrorKind::argument, "set size or preallocate: the size is negative");
    if (mode().sequential)
        error = Error::make(ErrorKind::unsupported_operation,
                            "set size or preallocate: the file is open for sequential access");
    if (!mode().writable())
        error = Error::make(ErrorKind::read_only,
                            "set size or preallocate: the file is open for reading only");
    if (auto written = state_->records.write(); !written) error = written.error();
    if (auto good = agree_on_error(ranks, error); !good) return good.error();
    // Allocating may rewrite all of the file. Until it is done, other threads must lock what they
    // write.
    LockPolicy& lock_policy = state_->locks.policy();
    const CollectiveWrite entered(lock_policy);
    if (auto same = agree_on_equal(ranks, static_cast<std::uint64_t>(bytes), what_differs); !same)
        return same.error();
    if (ranks.topology().rank == 0 || (!allocates && state_->resizes_for_node())) {
        Store& store = *state_->store;
        const Allocator allocator{state_->opened.found->holes_readable, lock_policy.may_fill(),
                                  lock_policy.job};
        const auto resized =
            allocates ? allocate(store, bytes, allocator) : store.resize(bytes, false);
        if (!resized) error = resized.error();
    }
    state_->store->forget_size();
    return agree_on_error(ranks, error);
}

Result<void> File::set_size(Bytes bytes) {
    return resize(bytes, false, "set size: the size differs between ranks");
}

Result<void> File::preallocate(Bytes bytes) {
    return resize(bytes, true, "preallocate: the size differs between ranks");
}

Result<Bytes> File::size() {
    if (auto written = state_->records.write(); !written) return written.error();
    return state_->store->size();
}

/// Returns true if a sync must end in an agreement of all ranks: a rank's own flush may not reach
/// all of its data, or only some ranks may know of a failure. That is so after a collective write
/// by ranks of several nodes (with lazy open, after any collective write), if data is shipped to
/// other nodes, if records are gathered, and after a sparse write; also if the hint
/// romio_synchronized_flush is set. Equal on all ranks.
bool File::State::flushes_together() const {
    const bool by_others =
        unsynced.any_together() && (!transport.topology().one_node() || opened.found->deferred);
    return hints->synchronized_flush || records.on() || by_others || agents.ship_elsewhere() ||
           unsynced.any_sparse();
}

Result<void> File::sync() {
    const TracedCall traced(state_->trace, Routine::sync);
    Transport& ranks = state_->transport;
    const bool together = state_->flushes_together();
    if (together) {
        settle_together();
    } else {
        settle();
    }
    // The hint romio_synchronized_flush makes all ranks meet before the first one flushes. They
    // also meet if ranks ship data to other nodes, because a flush there must come after the data.
    if (state_->hints->synchronized_flush || state_->agents.ship_elsewhere()) {
        if (auto met = agree_on_error(ranks, {}); !met) return met.error();
    }
    Error error;
    if (mode().writable()) {
        const auto written = state_->records.write();
        const auto flushed = state_->flushes.take(
            [this] { return state_->store->sync(); },
            "sync: another rank's flush failed; data written since the last sync may be lost");
        if (!flushed) error = flushed.error();
        if (!written) error = written.error();
    }
    if (const Error undelivered = state_->unsynced.take_undelivered(ranks);
        error.kind == ErrorKind::none)
        error = undelivered;
    if (together) {
        state_->unsynced.flushed_together();
        return agree_on_error(ranks, error);
    }
    if (error.kind == ErrorKind::none) return {};
    return error.on(ranks.topology().rank);
}

Result<void> File::set_atomicity(bool atomic) {
    settle_together();
    state_->plans.forget();
    if (auto written = state_->records.write_together(); !written) return written;
    const auto same = agree_on_equal(state_->transport, atomic ? 1 : 0,
                                     "set atomicity: the flag differs between ranks");
    if (!same) return same.error();
    state_->hints.set_atomic(*same);
    return {};
}

Result<Offset> File::target_of(Offset offset, Whence whence, Offset current) {
    const View& view = state_->place.view;
    Offset from = 0;
    if (mode().sequential) {
        return Error::make(ErrorKind::unsupported_operation,
                           "seek: the file is open for sequential access");
    }
    if (whence == Whence::unknown) {
        return Error::make(ErrorKind::argument,
                           "seek: whence is none of MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END");
    }
    if (whence == Whence::current) from = current;
    if (whence == Whence::end) {
        if (!view.file.monotonic()) {
            return Error::make(ErrorKind::unsupported_operation,
                               "seek: the view's tiles interleave, so it has no end of file");
        }
        const auto bytes = size();
        if (!bytes) return bytes.error();
        from = view.etypes_before(*bytes);
    }
    Offset target = 0;
    if (__builtin_add_overflow(from, offset, &target) || target < 0) {
        return Error::make(
            ErrorKind::argument,
            "seek: the new position is before the beginning of the view or too large");
    }
    return target;
}

Result<void> File::seek(Offset offset, Whence whence) {
    const auto target = target_of(offset, whence, position());
    if (!target) return target.error();
    state_->place.position = *target;
    return {};
}

Result<void> File::seek_shared(Offset offset, Whence whence) {
    settle_together();
    Transport& ranks = state_->transport;
    const auto asked = static_cast<std::uint64_t>(offset) * 4 + static_cast<std::uint64_t>(whence);
    if (auto same =
            agree_on_equal(ranks, asked, "seek shared: offset or whence differs between ranks");
        !same)
        return same.error();
    Error error;
    if (ranks.topology().rank == 0) {
        const auto current = ranks.counter().fetch_add(0);
        const auto target = current ? target_of(offset, whence, *current) : current;
        if (!target) error = target.error();
        if (target) {
            if (auto set = ranks.counter().set(*target); !set) error = set.error();
        }
    }
    return agree_on_error(ranks, error);
}

Result<Offset> File::position_shared() {
    if (mode().sequential) {
        return Error::make(ErrorKind::unsupported_operation,
                           "get position shared: the file is open for sequential access");
    }
    return state_->transport.counter().fetch_add(0);
}

Result<Offset> File::shared_displacement() {
    settle_together();
    Transport& ranks = state_->transport;
    // Until all ranks have entered, some rank may still move the shared file pointer.
    if (auto entered = agree_on_error(ranks, state_->ready()); !entered) return entered.error();
    Result<Offset> position = Offset{0};
    if (ranks.topology().rank == 0) position = ranks.counter().fetch_add(0);
    if (auto read = agree_on_error(ranks, position ? Error{} : position.error()); !read)
        return read.error();
    const auto agreed = agree_on_root(ranks, *position);
    if (!agreed) return agreed.error();
    return byte_offset(**agreed);
}

Result<Offset> File::byte_offset(Offset index) const {
    const View& view = state_->place.view;
    if (!view.data_position(index, 1)) {
        return Error::make(
            ErrorKind::argument,
            "get byte offset: the offset is negative or past the largest file offset, 2^62");
    }
    return view.byte_offset(index);
}

}  // namespace oratorio
