// SPDX-License-Identifier: BSD-3-Clause
// Opening a file: one step after the other, each agreed before the next begins, so that no rank is
// left alone in one.
#include <array>
#include <vector>

#include "file/path.hpp"
#include "file/state.hpp"
#include "store/striping.hpp"

namespace oratorio {

namespace {

/// `unready`: what else speaks against it.
Error check(const OpenCall& call, std::string_view path, const Error& unready) {
    const AccessMode& mode = call.mode;
    const auto amode = [](std::string_view what) { return Error::make(ErrorKind::amode, what); };
    if (call.refused.kind != ErrorKind::none) return call.refused;
    if (mode.read_only + mode.write_only + mode.read_write != 1) {
        return amode("open: give one of read only, write only, read and write");
    }
    if (mode.read_only && (mode.create || mode.exclusive))
        return amode("open: a file opened read only can't be created");
    if (mode.read_write && mode.sequential)
        return amode("open: sequential access is for read only or write only");
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

/// What `auto` is. A device works beside us, and on many requests at once; copies to and from the
/// page cache are made by our own cores either way, and cost less without a ring.
StoreChoice store_for(const PlanOptions& options) {
    return options.direct_read || options.direct_write ? StoreChoice::uring : StoreChoice::posix;
}

/// Each rank answers for its own client: on the server itself the page cache is right.
StoreChoice store_here(const std::string& path, const Hints& hints) {
    if (hints.store != StoreChoice::automatic) return hints.store;
    return is_incoherent(file_system_type(path)) ? StoreChoice::uncached : store_for(hints.plan);
}

Result<std::unique_ptr<Store>> open_chosen(StoreChoice choice, const std::string& path,
                                           const OpenMode& mode, const Hints& hints) {
    if (choice == StoreChoice::uring) return open_uring(path, mode, hints.uring_depth);
    if (choice == StoreChoice::thread) return open_threaded(path, mode, hints.uring_depth);
    if (choice == StoreChoice::uncached) return open_uncached(path, mode);
    return open_posix(path, mode);
}

/// One rank's store, and what it turned out to be.
struct Opening {
    std::unique_ptr<Store> store;
    Error error;
    bool readable = true;
    bool fell_back = false;  ///< uring was to be and is refused
    bool is_uncached = false;
    Error unstriped;  ///< of who creates it: why it isn't striped as hints ask
};

Opening open_as(const OpenCall& call, const std::string& path, const OpenMode& mode,
                const Hints& hints) {
    Opening opening;
    const bool ours = !call.open_store;
    const StoreChoice choice = store_here(path, hints);
    opening.is_uncached = ours && choice == StoreChoice::uncached;
    auto opened = ours ? open_chosen(choice, path, mode, hints) : call.open_store(path, mode);
    if (!opened && ours && choice == StoreChoice::uring &&
        opened.error().kind == ErrorKind::unsupported_operation) {
        opening.fell_back = true;
        opened = open_posix(path, mode);
    }
    if (opened) {
        opening.store = std::move(*opened);
    } else {
        opening.error = opened.error();
    }
    return opening;
}

Opening open_here(const OpenCall& call, const std::string& path, bool create, const Hints& hints) {
    const AccessMode& amode = call.mode;
    // Write-only files are opened for reading as well where that is allowed, so that holes between
    // pieces can be filled.
    OpenMode mode{true,
                  amode.writable(),
                  create,
                  create && amode.exclusive,
                  hints.file_permissions,
                  hints.plan.direct_read,
                  hints.plan.direct_write};
    Opening opening = open_as(call, path, mode, hints);
    if (amode.write_only && opening.error.kind == ErrorKind::access) {
        mode.read = false;
        opening = open_as(call, path, mode, hints);
        opening.readable = false;
    }
    return opening;
}

/// A new file gets its stripes before anybody opens it.
Opening create_here(const OpenCall& call, const std::string& path, const Hints& hints) {
    const Striping wanted{hints.plan.striping_unit, hints.striping_factor, hints.start_iodevice};
    StripedFile striped;
    if (!call.open_store)
        striped = make_striped(path, file_system_type(path), hints.file_permissions, wanted);
    OpenCall there = call;
    there.mode.exclusive = call.mode.exclusive && !striped.made;
    Opening opening = open_here(there, path, true, hints);
    opening.unstriped = striped.refused;
    return opening;
}

/// Collective. Rank 0 creates, and only when it has are the others let in.
Result<Opening> open_everywhere(Transport& transport, const OpenCall& call, const std::string& path,
                                const Hints& hints) {
    const bool first = transport.topology().rank == 0;
    Opening opening;
    if (call.mode.create) {
        if (first) opening = create_here(call, path, hints);
        if (auto created = agree_on_error(transport, opening.error); !created)
            return created.error();
    }
    if (opening.store == nullptr) opening = open_here(call, path, false, hints);
    // A client may have kept for a while that there is no such file; one that creates asks anew.
    const bool kept_so = opening.is_uncached && opening.error.kind == ErrorKind::no_such_file;
    if (call.mode.create && kept_so) {
        OpenCall there = call;
        there.mode.exclusive = false;
        opening = open_here(there, path, true, hints);
    }
    if (auto opened = agree_on_error(transport, opening.error); !opened) {
        if (opening.store != nullptr)
            (void)opening.store
                ->close();  // the open has failed already; there is no second error to tell
        return opened.error();
    }
    return opening;
}

/// What rank 0 tells all ranks about the opened file.
struct FileFacts {
    Error error;
    Bytes size = 0;
    long file_system = 0;
    Striping striping;
    Costs costs;
    bool sole = true;
    bool lockable = true;
};

/// A byte that no file has, and that every rank of an open file locks for as long as it may write.
constexpr Extent kPresence{Offset{1} << 62, (Offset{1} << 62) + 1};

/// Of rank 0, before the other ranks of this open are present. Of two that come at once neither is
/// alone.
void look_for_others(Store& store, FileFacts& facts) {
    const auto present = store.lock(kPresence, true, false);
    const auto others = store.is_locked_elsewhere(kPresence);
    facts.lockable = present && others;
    facts.sole = facts.lockable && !*others;
}

/// One was asked for that goes by the page cache.
constexpr const char* kUnseen =
    "hint oratorio_store: this file system's clients have caches of their own; other nodes may "
    "read old bytes, and lose theirs";

FileFacts facts_of(Store& store, const std::string& path, const OpenCall& call, StoreChoice in_use,
                   std::vector<std::string>& warnings) {
    FileFacts facts;
    facts.file_system = file_system_type(path);
    if (!call.open_store) facts.striping = striping_of(path, facts.file_system);
    const std::string_view name = file_system_name(facts.file_system);
    facts.costs = built_in_costs(name);
    if (in_use != StoreChoice::uncached && is_incoherent(facts.file_system))
        warnings.emplace_back(kUnseen);
    if (call.read_costs) facts.costs = parse_costs(call.read_costs(name), facts.costs, warnings);
    if (const auto size = store.size(); size) {
        facts.size = *size;
    } else {
        facts.error = size.error();
    }
    return facts;
}

std::string no_uring_on(std::uint64_t ranks) {
    return "hint oratorio_store: the kernel refuses io_uring on " + std::to_string(ranks) +
           " ranks; posix is used there";
}

/// What is asked of each rank's store; of each the ranks are counted that say yes.
enum Question {
    unreadable,
    fell_back,
    unmappable,
    remarked,
    silent,
    untraced,
    uncached,
    questions
};
using Answers = std::array<std::uint64_t, questions>;

Answers answers_of(const Opening& opening, const StoreLimits& limits, const OpenCall& call) {
    Answers answers{};
    answers[unreadable] = opening.readable ? 0 : 1;
    answers[fell_back] = opening.fell_back ? 1 : 0;
    answers[unmappable] = limits.mappable ? 0 : 1;
    answers[remarked] = limits.remark.empty() ? 0 : 1;
    answers[silent] = call.explain ? 0 : 1;
    answers[untraced] = call.trace.path.empty() ? 1 : 0;
    answers[uncached] = opening.is_uncached ? 1 : 0;
    return answers;
}

/// The one that the ranks have opened.
StoreChoice store_in_use(const Answers& ranks, const Hints& hints) {
    if (ranks[fell_back] > 0) return StoreChoice::posix;
    if (hints.store != StoreChoice::automatic) return hints.store;
    return ranks[uncached] > 0 ? StoreChoice::uncached : store_for(hints.plan);
}

}  // namespace

Result<std::unique_ptr<Store>> open_again(const OpenCall& call, const std::string& path,
                                          const Hints& hints) {
    Opening opening = open_here(call, path, false, hints);
    if (opening.store == nullptr) return opening.error;
    return std::move(opening.store);
}

Result<void> File::State::find_facts(const OpenCall& call) {
    std::vector<std::string> warnings;
    FileFacts found;
    const bool first = transport->topology().rank == 0;
    if (first) found = facts_of(*store, opened.path, call, opened.found->store, warnings);
    const Bytes begin = call.mode.append ? found.size : 0;
    if (first) {
        if (auto set = transport->set_counter(begin); !set) found.error = set.error();
    }
    // A descriptor that can't read can't share a lock either: it takes care as if others were here.
    const bool shares =
        call.mode.writable() && !call.mode.unique_open && opened.found->holes_readable;
    found.sole = opened.found->holes_readable;
    if (first && shares) look_for_others(*store, found);
    const auto facts = agree_on_root(*transport, found);
    if (!facts) return facts.error();
    engine.exclusion.sole = (*facts)->sole;
    engine.exclusion.lockable = (*facts)->lockable;
    if (!first && shares && (*facts)->lockable) (void)store->lock(kPresence, true, false);
    for (const std::string& warning : warnings) opened.voice.warn(warning);
    if ((*facts)->error.kind != ErrorKind::none) {
        (void)store->close();  // the first error is the one to tell
        return (*facts)->error;
    }
    opened.found = agreed_from(
        [](const Found& before, const FileFacts& told) {
            Found all = before;
            all.file_system = told.file_system;
            all.striping = told.striping;
            all.costs = told.costs;
            return all;
        },
        opened.found, *facts);
    if (call.mode.append) place.position = (*facts)->size;
    return {};
}

Result<std::unique_ptr<File>> File::open(std::shared_ptr<Workspace> workspace,
                                         const OpenCall& call) {
    auto state = std::make_unique<State>(std::move(workspace));
    Transport& ranks = *state->transport;
    const std::string path(without_prefix(call.path, call.prefixes));
    state->opened.path = path;
    state->opened.mode = call.mode;
    state->opened.explain = call.explain;
    state->opened.voice = Voice(call.narrate, ranks.topology().rank);

    if (auto good = agree_on_error(ranks, check(call, path, state->ready())); !good)
        return good.error();
    if (auto same =
            agree_on_equal(ranks, bits(call.mode), "open: the access mode differs between ranks");
        !same) {
        return same.error();
    }
    const auto origins = hint_origins(call.sources, call.info, path);
    if (auto taken = state->take_hints(merge_hints(call.sources, call.info, path), origins); !taken)
        return taken.error();

    auto opening = open_everywhere(ranks, call, path, *state->hints);
    if (!opening) return opening.error();
    state->store = std::move(opening->store);
    const StoreLimits& limits = state->store->limits();
    const auto answers = agree_on_sums(ranks, answers_of(*opening, limits, call));
    if (!answers) return answers.error();
    const Answers& count = **answers;
    state->opened.found = agreed_from(
        [](const Answers& told, const Hints& hints) {
            State::Found found;
            found.store = store_in_use(told, hints);
            found.holes_readable = told[unreadable] == 0;
            found.mappable = told[unmappable] == 0;
            found.account = told[silent] == 0;
            found.traced = told[untraced] == 0;
            return found;
        },
        *answers, state->hints);
    state->engine.stats.timed = state->opened.found->account;
    if (state->opened.found->traced) state->start_tracing(call.trace);
    if (count[fell_back] > 0 && state->hints->store != StoreChoice::automatic)
        state->opened.voice.warn(no_uring_on(count[fell_back]));
    if (count[remarked] > 0) {
        state->opened.voice.warn(limits.remark.empty() ? "the store of some rank isn't as asked for"
                                                       : limits.remark);
    }

    if (opening->unstriped.kind != ErrorKind::none)
        state->opened.voice.warn(oratorio::describe(opening->unstriped, path));

    if (auto found = state->find_facts(call); !found) return found.error();
    if (auto started = state->start_agents(call); !started) return started.error();
    return std::unique_ptr<File>(new File(std::move(state)));
}

Result<void> delete_file(const std::string& path, Prefixes dropped) {
    const std::string name(without_prefix(path, dropped));
    if (name.empty()) return Error::make(ErrorKind::bad_file, "delete: the file name is empty");
    return remove_file(name);
}

}  // namespace oratorio
