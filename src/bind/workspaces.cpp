// SPDX-License-Identifier: BSD-3-Clause
#include "bind/workspaces.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "memory/reserve.hpp"
#include "mpi/discover.hpp"
#include "mpi/errors_returned.hpp"
#include "mpi/open_transport.hpp"

namespace oratorio::bind {

/// The nodes of a communicator's ranks, as discover() found them.
struct FoundNodes {
    int ranks_per_node = 0;  ///< as passed to discover()
    Topology topology;
};

struct CacheSlot {
    bool reserved = false;  ///< the place is taken for a workspace while the ranks decide whether
                            ///< to keep it
    std::vector<LentWorkspace> idle;
    std::shared_ptr<const FoundNodes> nodes;  ///< null until the nodes have been found
};

namespace {

bool files_come_in_order() {
    return thread_level(MPI_THREAD_MULTIPLE) != MPI_THREAD_MULTIPLE;
}

int copy_no_slot(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

int drop_slot(MPI_Comm, int, void* cache_slot, void*) {
    delete static_cast<std::shared_ptr<CacheSlot>*>(cache_slot);
    return MPI_SUCCESS;
}

/// Copies the mark of a checked communicator to its duplicate, which has the same ranks.
int copy_checked(MPI_Comm, int, void*, void* mark, void* copy, int* flag) {
    *static_cast<void**>(copy) = mark;
    *flag = 1;
    return MPI_SUCCESS;
}

int drop_checked(MPI_Comm, int, void*, void*) {
    return MPI_SUCCESS;
}

/// Compares a communicator with MPI_COMM_WORLD. Also returns MPI_UNEQUAL for a session's
/// communicator, which Open MPI refuses to compare with the world: that error isn't the program's.
int difference_from_world(MPI_Comm program) {
    if (program == MPI_COMM_WORLD) return MPI_IDENT;
    const ErrorsReturned returned(program);
    int difference = MPI_UNEQUAL;
    if (!returned.holds() ||
        host().Comm_compare(program, MPI_COMM_WORLD, &difference) != MPI_SUCCESS)
        return MPI_UNEQUAL;
    return difference;
}

/// Returns this process's first workspace number, made of the time and the process id, so that
/// numbers of different processes don't collide. Rank 0 of a workspace assigns its number.
std::uint64_t first_number() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ticks = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
    return (ticks << 16) + static_cast<std::uint64_t>(getpid() % (1 << 16));
}

int size_of(MPI_Comm comm) {
    int ranks = 1;
    host().Comm_size(comm, &ranks);
    return ranks;
}

int rank_in(MPI_Comm comm) {
    int rank = 0;
    host().Comm_rank(comm, &rank);
    return rank;
}

/// What the ranks report to each other when they open a file. MPI_MAX combines each word.
struct OpenHandshake {
    AllEqual number{};          ///< number of the kept workspace
    std::uint64_t off = 0;      ///< 1: the library is off on this rank
    std::uint64_t speaker = 0;  ///< size - rank if the library is on; the lowest such rank wins
    std::uint64_t unready = 0;  ///< key_of this rank's error; 0: none
    std::uint64_t nodes = 0;    ///< rank 0's ranks_per_node, encoded by nodes_word()
    std::uint64_t unknown = 0;  ///< 1: this rank's cache slot has no nodes

    [[nodiscard]] bool all_have_it() const { return number.value != 0 && number.holds(); }
};

/// Collective. Combines the words of all ranks.
Result<Agreed<OpenHandshake>> handshake(MPI_Comm program, OpenHandshake mine) {
    auto agreed = check(host().Allreduce(MPI_IN_PLACE, &mine, sizeof mine / sizeof mine.off,
                                         MPI_UINT64_T, MPI_MAX, program),
                        "agreeing with the other ranks on how to open the file");
    if (!agreed) return agreed.error();
    return Agreed<OpenHandshake>::vouch(mine);
}

/// Encodes rank 0's number of ranks per node for MPI_MAX. Other ranks leave the word 0.
std::uint64_t nodes_word(int ranks_per_node) {
    return static_cast<std::uint64_t>(std::max(ranks_per_node, 0)) + 1;
}

Lending refuse(const LibraryCheck& check) {
    return {{}, check.speaks ? describe(check.error, "") : "", check.error};
}

Lending stood_aside(bool speaks) {
    return {
        {},
        speaks ? "ORATORIO_DISABLE is set on other ranks; files that are opened together with them "
                 "use the host's MPI-IO"
               : "",
        {}};
}

}  // namespace

bool may_be_spawned() {
    if (!world_exists()) return false;
    MPI_Comm parent = MPI_COMM_NULL;
    return host().Comm_get_parent(&parent) != MPI_SUCCESS || parent != MPI_COMM_NULL;
}

bool covers_job(MPI_Comm program) {
    if (!world_exists() || size_of(program) != size_of(MPI_COMM_WORLD)) return false;
    if (may_be_spawned()) return false;
    const int difference = difference_from_world(program);
    return difference == MPI_IDENT || difference == MPI_CONGRUENT || difference == MPI_SIMILAR;
}

Workspaces::Workspaces(MpiTransport::Chores chores, SwitchNames switches)
    : chores_(chores),
      switches_(std::move(switches)),
      last_number_(first_number()),
      of_world_(std::make_shared<CacheSlot>()),
      of_self_(std::make_shared<CacheSlot>()),
      key_(MPI_KEYVAL_INVALID),
      checked_key_(MPI_KEYVAL_INVALID) {}

/// Returns the cache slot of a communicator; null if nothing can be kept.
std::shared_ptr<CacheSlot> Workspaces::slot_of(MPI_Comm program) {
    const int ranks = size_of(program);
    if (world_exists()) {
        if (ranks == 1) return of_self_;
        int difference = MPI_UNEQUAL;
        if (size_of(MPI_COMM_WORLD) == ranks) difference = difference_from_world(program);
        if (difference == MPI_IDENT || difference == MPI_CONGRUENT) return of_world_;
    }
    return slot_on(program);
}

/// Returns the communicator's own cache slot, and makes one if it has none. Returns null if nothing
/// can be kept.
std::shared_ptr<CacheSlot> Workspaces::slot_on(MPI_Comm program) {
    if (of_world_ == nullptr) return nullptr;
    if (key_ == MPI_KEYVAL_INVALID &&
        host().Comm_create_keyval(copy_no_slot, drop_slot, &key_, nullptr) != MPI_SUCCESS)
        return nullptr;
    void* held = nullptr;
    int found = 0;
    host().Comm_get_attr(program, key_, static_cast<void*>(&held), &found);
    if (found != 0) return *static_cast<std::shared_ptr<CacheSlot>*>(held);
    auto made = std::make_unique<std::shared_ptr<CacheSlot>>(std::make_shared<CacheSlot>());
    if (host().Comm_set_attr(program, key_, made.get()) != MPI_SUCCESS) return nullptr;
    return *made.release();
}

/// Checks that all ranks of a communicator have the library, unless that was found before. Only
/// collective calls set and copy the attribute that records it, so all ranks decide the same way.
LibraryCheck Workspaces::check_once(MPI_Comm program) {
    if (size_of(program) == 1) return {};
    {
        const std::lock_guard lock(mutex_);
        if (checked_key_ == MPI_KEYVAL_INVALID)
            host().Comm_create_keyval(copy_checked, drop_checked, &checked_key_, nullptr);
    }
    void* mark = nullptr;
    int found = 0;
    const bool remembers = checked_key_ != MPI_KEYVAL_INVALID;
    if (remembers) host().Comm_get_attr(program, checked_key_, static_cast<void*>(&mark), &found);
    if (found != 0) return {};
    LibraryCheck check = check_library(program);
    if (check.error.kind == ErrorKind::none && remembers)
        host().Comm_set_attr(program, checked_key_, this);
    return check;
}

Lending Workspaces::stand_aside(MPI_Comm program) {
    if (!Comm::check_kind(program) || size_of(program) == 1) return {};
    const LibraryCheck check = check_once(program);
    if (check.error.kind != ErrorKind::none) return refuse(check);
    (void)handshake(program, {.off = 1});  // the host opens the file, whatever the result
    return {};
}

Result<Lending> Workspaces::lend(MPI_Comm program, int ranks_per_node) {
    if (auto valid = Comm::check_kind(program); !valid) return valid.error();
    LentWorkspace kept = take(program);
    const auto home = kept.home;
    // If a rank has an ordered workspace, it knows that all ranks have this workspace, and that the
    // library is on for all of them.
    if (!kept.ordered) {
        LibraryCheck check = check_once(program);
        if (check.error.kind != ErrorKind::none) {
            put(std::move(kept));
            return refuse(check);
        }
        const int ranks = size_of(program);
        const Rank rank = rank_in(program);
        const auto speaker = static_cast<std::uint64_t>(ranks - rank);
        const std::shared_ptr<const FoundNodes> known = found_nodes(home);
        const auto agreed =
            handshake(program, {.number = {kept.number},
                                .speaker = speaker,
                                .unready = key_of(ready_for_collective(ranks), rank),
                                .nodes = rank == 0 ? nodes_word(ranks_per_node) : 0,
                                .unknown = known ? 0u : 1u});
        const bool good = agreed && (*agreed)->off == 0 && (*agreed)->unready == 0;
        if (!good || !(*agreed)->all_have_it()) {
            put(std::move(kept));
            if (!agreed) return agreed.error();
            if ((*agreed)->off != 0) return stood_aside((*agreed)->speaker == speaker);
            if ((*agreed)->unready != 0)
                return Error::make(ErrorKind::no_memory, "open: not enough memory to begin")
                    .on(owner_of((*agreed)->unready));
            const auto nodes = agreed_from(
                [](const OpenHandshake& told) { return static_cast<int>(told.nodes - 1); },
                *agreed);
            const bool found = (*agreed)->unknown == 0 && known->ranks_per_node == *nodes;
            auto topology =
                found ? Result<Topology>(known->topology) : discover(program, nodes, switches_);
            if (!topology) return topology.error();
            if (!found) keep_nodes(home, {*nodes, *topology});
            auto own = check.duplicate ? Result<Comm>(std::move(*check.duplicate))
                                       : Comm::duplicate(program);
            if (!own) return own.error();
            return make(std::move(*own), std::move(*topology), nodes, ranks_per_node, home);
        }
    }
    // The counter is reset before the ranks of the new file agree on anything. If there is no
    // counter, its first use reports that.
    if (kept.rank() == 0) (void)kept.workspace->transport->counter().set(0);
    return Lending{std::move(kept), {}, {}};
}

/// Takes a kept workspace out of its cache slot. If there is none, returns an empty workspace that
/// has only its home set.
LentWorkspace Workspaces::take(MPI_Comm program) {
    const std::lock_guard lock(mutex_);
    LentWorkspace kept;
    const auto cache_slot = slot_of(program);
    if (cache_slot != nullptr && !cache_slot->idle.empty()) {
        kept = std::move(cache_slot->idle.back());
        cache_slot->idle.pop_back();
    }
    kept.home = cache_slot;
    return kept;
}

/// Puts a workspace into its cache slot, or destroys it if the slot is gone.
void Workspaces::put(LentWorkspace kept) {
    if (kept.workspace == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (const auto cache_slot = kept.home.lock()) cache_slot->idle.push_back(std::move(kept));
}

/// Returns the nodes that the cache slot `home` keeps; null if there are none. Allocates no memory,
/// so it can't fail on one rank alone before the handshake.
std::shared_ptr<const FoundNodes> Workspaces::found_nodes(const std::weak_ptr<CacheSlot>& home) {
    const std::lock_guard lock(mutex_);
    const auto cache_slot = home.lock();
    return cache_slot != nullptr ? cache_slot->nodes : nullptr;
}

void Workspaces::keep_nodes(const std::weak_ptr<CacheSlot>& home, FoundNodes nodes) {
    auto shared = std::make_shared<const FoundNodes>(std::move(nodes));
    const std::lock_guard lock(mutex_);
    if (const auto cache_slot = home.lock()) cache_slot->nodes = std::move(shared);
}

/// Collective over `own`. Makes a workspace of its ranks.
Result<Lending> Workspaces::make(Comm own, Topology topology, const Agreed<int>& nodes,
                                 int ranks_per_node, std::weak_ptr<CacheSlot> home) {
    auto opened = open_transport(std::move(own), std::move(topology), counters_,
                                 NodeBoards::usually_listed_from(), chores_);
    if (!opened) return opened.error();
    Transport& ranks = *opened->transport;
    const bool names_it = ranks.topology().rank == 0;
    std::array<std::uint64_t, 3> facts{names_it ? ++last_number_ : 0,
                                       files_come_in_order() ? 0u : 1u,
                                       *nodes != std::max(ranks_per_node, 0) ? 1u : 0u};
    if (auto told = reduce(ranks, facts, ReduceOp::max); !told) return told.error();
    std::string remark;
    if (names_it && facts[2] != 0)
        remark = "ORATORIO_RANKS_PER_NODE differs between ranks; using rank 0's value: " +
                 std::to_string(*nodes);
    return Lending{{std::make_shared<Workspace>(std::move(opened->transport)), opened->messages,
                    facts[0], facts[1] == 0, std::move(home)},
                   std::move(remark),
                   {}};
}

void Workspaces::give_back(LentWorkspace lent) {
    if (lent.workspace == nullptr) return;
    Transport& ranks = *lent.workspace->transport;
    const bool reserved = ranks.quiet() && reserve_place(lent);
    std::uint64_t refused = reserved ? 0 : 1;
    const auto agreed = reduce(ranks, std::span(&refused, 1), ReduceOp::max);
    const bool kept = agreed && refused == 0;
    if (kept) lent.workspace->tidy();
    if (reserved) end_reservation(lent, kept);
}

/// Returns true if this rank can keep the workspace; then its place is taken until
/// end_reservation(). Without the reservation several threads that close files at once would all
/// find the place free.
bool Workspaces::reserve_place(const LentWorkspace& lent) {
    const std::lock_guard lock(mutex_);
    const auto cache_slot = lent.home.lock();
    if (cache_slot == nullptr || cache_slot->reserved || !cache_slot->idle.empty()) return false;
    cache_slot->reserved = true;
    return true;
}

void Workspaces::end_reservation(LentWorkspace& lent, bool kept) {
    const std::lock_guard lock(mutex_);
    const auto cache_slot = lent.home.lock();
    if (cache_slot == nullptr) return;
    cache_slot->reserved = false;
    if (kept) cache_slot->idle.push_back(std::move(lent));
}

void Workspaces::forget_key() {
    const std::lock_guard lock(mutex_);
    key_ = MPI_KEYVAL_INVALID;
    checked_key_ = MPI_KEYVAL_INVALID;
}

void Workspaces::close() {
    std::vector<std::shared_ptr<CacheSlot>> all;
    {
        const std::lock_guard lock(mutex_);
        all = {std::exchange(of_world_, nullptr), std::exchange(of_self_, nullptr)};
        for (int* const key : {&key_, &checked_key_})
            if (*key != MPI_KEYVAL_INVALID) host().Comm_free_keyval(key);
    }
}

}  // namespace oratorio::bind
