// SPDX-License-Identifier: BSD-3-Clause
// Opens a file, in steps. The ranks agree on each step before the next begins, so that no rank
// enters a step alone: arguments and access mode (agree_to_open), hints (take_hints), stores and
// locks (open_stores), trace, agents (FileAgents). With lazy open (hint romio_no_indep_rw) a rank
// other than 0 that doesn't aggregate opens its store when it first needs it (open_late).
#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/amounts.hpp"
#include "comm/node_broadcast.hpp"
#include "comm/shared_segment.hpp"
#include "file/opening.hpp"
#include "file/path.hpp"
#include "file/state.hpp"
#include "file/striping_advice.hpp"
#include "plan/learning_text.hpp"
#include "store/lazy_open.hpp"

namespace oratorio {

namespace {

/// Returns the first error in the arguments of a call. If there is none, returns `unready`, which
/// is set if this rank has too little memory for the open.
Error check(const OpenCall& call, std::string_view path, const Error& unready) {
    const AccessMode& mode = call.mode;
    const auto amode = [](std::string_view what) { return Error::make(ErrorKind::amode, what); };
    if (call.refused.kind != ErrorKind::none) return call.refused;
    if (mode.read_only + mode.write_only + mode.read_write != 1) {
        return amode(
            "open: the access mode needs exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and "
            "MPI_MODE_RDWR");
    }
    if (mode.read_only && (mode.create || mode.exclusive))
        return amode("open: MPI_MODE_RDONLY excludes MPI_MODE_CREATE and MPI_MODE_EXCL");
    if (mode.read_write && mode.sequential)
        return amode("open: MPI_MODE_SEQUENTIAL excludes MPI_MODE_RDWR");
    if (path.empty()) return Error::make(ErrorKind::bad_file, "open: the file name is empty");
    return unready;
}

std::uint64_t bits(const AccessMode& mode) {
    std::uint64_t sum = 0;
    for (const bool flag :
         {mode.read_only, mode.write_only, mode.read_write, mode.create, mode.exclusive,
          mode.delete_on_close, mode.unique_open, mode.append, mode.sequential}) {
        sum = sum * 2 + (flag ? 1 : 0);
    }
    return sum;
}

/// Collective. Makes the first agreement of an open. `wanted` is this rank's access mode. Returns
/// an error if `mine` is set on some rank, or if the access modes differ.
Result<void> agree_to_open(Transport& ranks, const Error& mine, std::uint64_t wanted) {
    const AllEqual same{wanted};
    std::array words{key_of(mine, ranks.topology().rank), same.value, same.turned};
    if (auto told = reduce(ranks, words, ReduceOp::max); !told) return told.error();
    if (words[0] != 0) return agree_on_error(ranks, mine);
    if (AllEqual{words[1], words[2]}.holds()) return {};
    return Error::make(ErrorKind::not_same, "open: the access mode differs between ranks");
}

/// What rank 0 reports to all ranks about the file that it has opened.
struct FileFacts {
    Sighting seen;  ///< the file as rank 0 found it; has the error if rank 0 failed
    FileNumber number;
    Bytes size = 0;
    long file_system = 0;
    Striping striping;
    Costs costs;
    bool present = false;  ///< rank 0 has locked kPresence, and other ranks should (see `shown`)
    bool sole = true;
    bool lockable = true;
    Clients clients = Clients::several;
    LockOffer locks;
};

/// Locks kPresence, then looks for other handles that hold it locked because they may write the
/// file. Of two handles that are opened at the same time, at least one finds the other. REQUIRES:
/// called by rank 0, before the other ranks of this open show that they are present.
void look_for_others(Store& store, FileFacts& facts) {
    const auto present = store.lock(kPresence, true, false);
    const auto others = store.is_locked_elsewhere(kPresence);
    facts.present = facts.lockable = present && others;
    facts.sole = facts.lockable && !*others;
}

/// Collects the facts of a file that rank 0 has open.
FileFacts facts_of(const Opening& opening, const std::string& path, const OpenCall& call,
                   std::vector<std::string>& warnings) {
    FileFacts facts;
    Store& store = *opening.store;
    facts.number = store.number();
    facts.file_system = store.kind().file_system;
    if (facts.file_system == 0) facts.file_system = file_system_type(path);
    if (!call.open_store) facts.striping = striping_of(path, facts.file_system);
    facts.costs = built_in_costs(storage_of(facts.file_system, opening.asks_server));
    const std::string_view name = file_system_name(facts.file_system);
    if (call.read_costs) facts.costs = parse_costs(call.read_costs(name), facts.costs, warnings);
    if (const auto size = store.size(); size) {
        facts.size = *size;
    } else {
        facts.seen.error = size.error();
    }
    return facts;
}

/// Collects the facts of a file that rank 0 has tried to open, and sets the shared file pointer.
/// After an error the store is closed.
FileFacts first_facts(Transport& ranks, const Opening& opening, const std::string& path,
                      const OpenCall& call, std::vector<std::string>& warnings) {
    FileFacts facts;
    if (opening.store == nullptr) {
        facts.seen.error = opening.error.on(0);
        return facts;
    }
    facts = facts_of(opening, path, call, warnings);
    facts.clients = clients_of(call.covers_job, ranks.topology());
    facts.seen = {facts.seen.error, opening.readable, opening.store->kind(), opening.number};
    // A descriptor that isn't open for reading can't hold a shared lock. A handle with such a
    // descriptor behaves as if other handles had the file open.
    if (call.mode.writable() && !call.mode.unique_open && opening.readable)
        look_for_others(*opening.store, facts);
    if (auto set = ranks.counter().set(call.mode.append ? facts.size : 0); !set)
        facts.seen.error = set.error();
    if (facts.seen.error.kind == ErrorKind::none) return facts;
    facts.seen.error = facts.seen.error.on(0);
    (void)opening.store->close();  // the first error is the one to report
    return facts;
}

/// Opens the file, and shows other handles that it is open.
Opening open_present(const OpenCall& call, const std::string& path, const Hints& hints,
                     const FileFacts& facts) {
    Opening opening = open_here(call, path, hints, facts.clients);
    if (facts.present && opening.store != nullptr && opening.readable)
        (void)opening.store->lock(kPresence, true, false);
    return opening;
}

/// Opens the file on a rank other than 0, after rank 0. The first rank of a node asks the system
/// for what is the same for all ranks of the node, and sends it to them. If that rank fails, the
/// node's other ranks open nothing: its error is enough for all.
Result<Opening> open_beside(Transport& ranks, const OpenCall& call, const std::string& path,
                            const Hints& hints, const FileFacts& facts) {
    const Topology& topology = ranks.topology();
    if (are_beside(topology, 0, topology.rank))
        return open_here(call, path, hints, facts.clients, facts.seen);
    Sighting seen;
    Opening opening;
    const bool leads = first_beside(topology, topology.rank) == topology.rank;
    if (leads) {
        opening = open_present(call, path, hints, facts);
        seen = sighting_of(opening);
    }
    auto told = node_broadcast(ranks, std::as_writable_bytes(std::span(&seen, 1)));
    if (!told) return told.error();
    if (leads || seen.error.kind != ErrorKind::none) return opening;
    return open_here(call, path, hints, facts.clients, seen);
}

std::string no_uring_on(std::uint64_t ranks) {
    return "hint oratorio_store: the kernel refuses io_uring on " + counted(ranks, "rank") +
           "; posix is used there";
}

/// Opens the file on a rank other than 0. A rank that opens lazily returns neither a store nor an
/// error.
Result<Opening> open_next(Transport& ranks, const OpenCall& call, const std::string& path,
                          const Hints& hints, const FileFacts& facts) {
    if (!hints.no_independent_access) return open_beside(ranks, call, path, hints, facts);
    const Topology& topology = ranks.topology();
    if (std::ranges::binary_search(aggregators_of(topology, hints.plan), topology.rank))
        return open_present(call, path, hints, facts);
    return Opening{};
}

/// Yes-or-no questions to all ranks. For each question, the ranks that say yes are counted.
enum Question {
    failed,
    open_now,
    unreadable,
    fell_back,
    unmappable,
    remarked,
    silent,
    untraced,
    asks_server,
    has_others,  ///< the rank's process has other writable handles on the file, see LockSight
    has_filler,
    looked,
    saw,
    incoherent,
    questions
};
using Answers = std::array<std::uint64_t, questions>;

Answers answers_of(const Opening& opening, const OpenCall& call, const LockSight& locks) {
    Answers answers{};
    answers[failed] = opening.error.kind != ErrorKind::none ? 1 : 0;
    answers[silent] = call.explain || call.summary ? 0 : 1;
    answers[untraced] = call.trace.path.empty() ? 1 : 0;
    answers[has_others] = locks.others ? 1 : 0;
    answers[has_filler] = locks.filler ? 1 : 0;
    answers[looked] = locks.looked ? 1 : 0;
    answers[saw] = locks.seen ? 1 : 0;
    if (opening.store == nullptr) return answers;
    const StoreLimits& limits = opening.store->limits();
    answers[open_now] = 1;
    answers[unreadable] = opening.readable ? 0 : 1;
    answers[fell_back] = opening.fell_back ? 1 : 0;
    answers[unmappable] = limits.mappable ? 0 : 1;
    answers[remarked] = limits.remark.empty() ? 0 : 1;
    answers[asks_server] = opening.asks_server ? 1 : 0;
    answers[incoherent] = is_incoherent(opening.store->kind().file_system) ? 1 : 0;
    return answers;
}

/// Collective. Returns the number of ranks that say yes to each question. If a rank has failed to
/// open the file, all ranks close it and return that error.
Result<Agreed<Answers>> agree_on_answers(Transport& ranks, const Opening& opening,
                                         const Answers& mine) {
    auto answers = agree_on_sums(ranks, mine);
    if (!answers || (**answers)[failed] == 0) return answers;
    if (opening.store != nullptr) (void)opening.store->close();  // a second error isn't reported
    return agree_on_error(ranks, opening.error).error();
}

LockAnswers locks_found(const FileFacts& facts, const Answers& ranks, const FileFindings& all) {
    return {.offer = facts.locks,
            .sole = facts.sole,
            .lockable = facts.lockable,
            .others = ranks[has_others] > 0,
            .filler = ranks[has_filler] > 0,
            .tested = ranks[looked] > 0,
            .seen = ranks[looked] > 0 && ranks[saw] == ranks[looked],
            .holes_readable = all.holes_readable,
            .deferred = all.deferred};
}

/// Returns the kind of store that the ranks have opened; posix if some rank had to fall back to it.
StoreChoice store_in_use(const Answers& ranks, const Hints& hints, Clients clients) {
    if (ranks[fell_back] > 0) return StoreChoice::posix;
    if (hints.store != StoreChoice::automatic) return hints.store;
    return ranks[asks_server] > 0 ? store_of(clients) : store_for(hints.plan);
}

FileFindings findings_of(const Answers& ranks, const FileFacts& of_first, const Hints& hints,
                         const Nodes& nodes) {
    FileFindings all;
    all.store = store_in_use(ranks, hints, of_first.clients);
    all.holes_readable = ranks[unreadable] == 0;
    all.mappable = ranks[unmappable] == 0;
    all.account = ranks[silent] == 0;
    all.traced = ranks[untraced] == 0;
    all.file_system = of_first.file_system;
    all.striping = of_first.striping;
    all.was_empty = of_first.size == 0;
    all.costs = of_first.costs;
    all.number = of_first.number;
    all.keeps_old_size = ranks[incoherent] > 0;
    all.deferred = hints.no_independent_access && nodes.size > 1;
    all.shown = of_first.present;
    all.shown_for_others = all.shown && !all.deferred && nodes.nodes() < nodes.size;
    return all;
}

/// Returns the explanation of a lazy open: on how many ranks the file is open.
std::string open_on(std::uint64_t now, Rank ranks) {
    return ": open on " + std::to_string(now) + " of " + std::to_string(ranks) +
           " ranks; the others open it when they need it (hint romio_no_indep_rw)\n";
}

/// Returns the warnings about the ranks' stores. `remark` is the remark of this rank's store, or
/// "".
std::vector<std::string> remarks_on(const Answers& ranks, const Hints& hints, long file_system,
                                    const std::string& remark) {
    std::vector<std::string> remarks;
    if (ranks[fell_back] > 0 && hints.store != StoreChoice::automatic)
        remarks.push_back(no_uring_on(ranks[fell_back]));
    if (ranks[remarked] > 0)
        remarks.push_back(
            remark.empty()
                ? "some rank can't use io_uring or direct I/O for this file, and makes ordinary "
                  "system calls instead"
                : remark);
    if (ranks[asks_server] == 0 && is_incoherent(file_system)) {
        remarks.emplace_back(
            "hint oratorio_store: this file system's clients have their own caches; other nodes "
            "may read old bytes, and their writes may be lost");
    }
    return remarks;
}

}  // namespace

/// Collective. Rank 0 opens the file, and creates it if the mode says so, before the other ranks:
/// if rank 0 can't, no other rank asks the system. Then all ranks report what they have found.
Result<void> File::State::open_stores(const OpenCall& call) {
    const Topology& topology = transport.topology();
    const std::string& path = opened.location.path;
    const bool first = topology.rank == 0;
    std::vector<std::string> warnings;
    Opening opening;
    FileFacts found;
    if (first) {
        const Clients clients = clients_of(call.covers_job, topology);
        opening = open_first(call, path, *hints, clients, topology.nodes());
        found = first_facts(transport, opening, path, call, warnings);
        if (found.seen.error.kind == ErrorKind::none)
            found.locks = locks.offer(call, opening, found.file_system, hints->locks);
    }
    const auto facts = agree_on_root(transport, found);
    if (!facts) return facts.error();
    if ((*facts)->seen.error.kind != ErrorKind::none) return (*facts)->seen.error;
    if (!first) {
        auto next = open_next(transport, call, path, *hints, **facts);
        if (!next) return next.error();
        opening = std::move(*next);
    }
    const auto sight = locks.look(call, opening, (*facts)->locks);
    const auto answers = agree_on_answers(transport, opening, answers_of(opening, call, sight));
    if (!answers) return answers.error();
    opened.found =
        agreed_from([](const Answers& told, const FileFacts& of_first, const Hints& given,
                       const Nodes& nodes) { return findings_of(told, of_first, given, nodes); },
                    *answers, *facts, hints.agreed(), nodes_of(transport));
    locks.choose(call, opening, locks_found(**facts, **answers, *opened.found));
    locks.tell(opened.path, messages);
    if (call.mode.append) place.position = (*facts)->size;
    stats.opens += opening.store != nullptr ? 1 : 0;
    store = opening.store != nullptr ? std::move(opening.store) : open_lazily([this] {
        auto made = open_late(opened, *hints, transport.topology(), locks.policy());
        stats.opens += made ? 1 : 0;
        return made;
    });
    for (const std::string& remark :
         remarks_on(**answers, *hints, opened.found->file_system, store->limits().remark))
        messages.warn(remark);
    if (opening.unstriped.kind != ErrorKind::none)
        messages.warn(oratorio::describe(opening.unstriped, opened.path));
    if (!opening.layout.empty() && messages.explains())
        messages.say(opened.path + ": " + layout_text(opening.layout) + "\n");
    for (const std::string& warning : warnings) messages.warn(warning);
    if (opened.found->deferred && messages.explains())
        messages.say(opened.path + open_on((**answers)[open_now], topology.size));
    return {};
}

Result<std::unique_ptr<Store>> open_late(const OpenedFile& file, const Hints& hints,
                                         const Topology& topology, LockPolicy& lock_policy) {
    OpenCall call;
    call.mode = file.mode;
    call.open_store = file.open_store;
    call.mode.create = false;
    Opening late = open_here(call, file.location.path, hints, Clients::several);
    if (late.store == nullptr) return late.error;
    const FileNumber& first = file.found->number;
    const FileNumber& mine = late.store->number();
    const bool beside = are_beside(topology, 0, topology.rank);
    const bool comparable = beside || has_common_numbers(late.store->kind().file_system);
    if (comparable && (first.number != mine.number || (beside && first.device != mine.device))) {
        return Error::make(
            ErrorKind::no_such_file,
            "late open: another file has taken this name since rank 0 opened it; don't remove or "
            "rename open files",
            ESTALE);
    }
    const bool shown =
        late.readable && (!file.found->shown || late.store->lock(kPresence, true, false));
    if (!shown) lock_policy.sole = false;
    return std::move(late.store);
}

Error OpenedFile::check_location() const {
    const auto there = number_of(location.path);
    // A path that can't be looked up can't be deleted either, and deleting reports the reason.
    if (!there || found->number == FileNumber{} || *there == found->number) return {};
    return Error::make(
        ErrorKind::no_such_file,
        "close: another file now has this name, so nothing was deleted (MPI_MODE_DELETE_ON_CLOSE)",
        ESTALE);
}

File::State::State(std::shared_ptr<Workspace> lent, const OpenCall& call)
    : workspace(std::move(lent)),
      transport(*workspace->transport),
      messages(call, transport.topology().rank),
      locks(transport.topology()),
      tuning(workspace->learned),
      trace(stats),
      staging(call.devices, opened, hints, messages),
      flushes(transport),
      records(transport, store, stats, locks.policy()),
      agents(transport, opened, messages) {
    opened.path = without_prefix(call.path, call.prefixes);
    opened.location = fix_path(opened.path);
    opened.mode = call.mode;
    opened.open_store = call.open_store;
    locks.policy().io_thread = &io_thread;
}

std::string File::State::times_to_tell(const OpenCall& call, const HintMap& mine) {
    const Topology& topology = transport.topology();
    const auto hint = mine.find("oratorio_learn");
    const bool keeps = hint == mine.end() || hint->second == "keep";
    if (topology.rank != 0 || call.learned_file == nullptr || !keeps ||
        !workspace->learned.kinds().empty())
        return "";
    const auto text = call.learned_file->of_earlier_jobs();
    if (!text)
        messages.warn("learned times are ignored: " +
                      oratorio::describe(text.error(), call.learned_file->path(), Subject::other));
    const auto times = text ? parse_learned(*text) : std::nullopt;
    return times ? to_text(for_ranks(*times, topology.size)) : "";
}

void File::State::keep_times() {
    if (transport.topology().rank != 0 || learned_file == nullptr) return;
    const auto kept = learned_file->merge(workspace->learned);
    if (!kept)
        messages.warn("learned times can't be kept: " +
                      oratorio::describe(kept.error(), learned_file->path(), Subject::other));
}

Result<std::unique_ptr<File>> File::open(std::shared_ptr<Workspace> workspace,
                                         const OpenCall& call) {
    const Nanoseconds began = call.trace.began.value_or(Recorder::now());
    auto state = std::make_unique<State>(std::move(workspace), call);
    Transport& ranks = state->transport;
    const OpenedFile& file = state->opened;
    if (auto agreed = agree_to_open(ranks, check(call, file.path, state->ready()), bits(call.mode));
        !agreed)
        return agreed.error();
    const auto origins = hint_origins(call.sources, call.info, file.path);
    const HintMap mine = merge_hints(call.sources, call.info, file.path);
    if (auto taken = state->take_hints(mine, origins, state->times_to_tell(call, mine)); !taken)
        return taken.error();

    if (auto opened = state->open_stores(call); !opened) return opened.error();
    state->stats.timed = file.found->account;
    if (call.clock != nullptr && state->hints->learn != LearnChoice::off)
        state->tuning.start(call.clock, call.cpu_clock);
    if (state->hints->learn == LearnChoice::keep && state->tuning.measures())
        state->learned_file = call.learned_file;
    if (file.found->traced) state->trace.start(call.trace, ranks.topology().size);
    // A rank itself locks the bytes that it ships. The agent's accesses have another lock owner, so
    // mandatory locks would deny them.
    const bool denied = has_mandatory_locks(file.found->file_system) && !state->locks.are_of_job();
    if (auto started = state->agents.start(call, state->hints.agreed(), *state->store, denied);
        !started)
        return started.error();
    state->shared.emplace(FileContext{.transport = ranks,
                                      .store = *state->store,
                                      .stats = state->stats,
                                      .buffers = state->workspace->buffers,
                                      .node = state->workspace->node,
                                      .plans = state->plans,
                                      .tuning = state->tuning,
                                      .io_thread = state->io_thread,
                                      .lock_policy = state->locks.policy(),
                                      .undelivered = state->unsynced.undelivered(),
                                      .late = state->late,
                                      .agents = state->agents.get()});
    state->trace.add_call(Routine::open, began);
    return std::unique_ptr<File>(new File(std::move(state)));
}

Result<void> delete_file(const std::string& path, Prefixes dropped) {
    const std::string name(without_prefix(path, dropped));
    if (name.empty()) return Error::make(ErrorKind::bad_file, "delete: the file name is empty");
    return remove_file(name);
}

}  // namespace oratorio
