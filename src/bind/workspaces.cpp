#include "bind/workspaces.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "mpi/open_transport.hpp"

namespace oratorio::bind {

struct Shelf {
    bool lasting = false;  ///< until MPI_Finalize
    std::vector<LentWorkspace> idle;
};

namespace {

/// What becomes of a workspace that is given back; the ranks' largest holds.
enum Fate : std::uint64_t { keep, destroy, abandon };

bool files_come_in_order() {
    return thread_level(MPI_THREAD_MULTIPLE) != MPI_THREAD_MULTIPLE;
}

int copy_no_shelf(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

int drop_shelf(MPI_Comm, int, void* shelf, void*) {
    delete static_cast<std::shared_ptr<Shelf>*>(shelf);
    return MPI_SUCCESS;
}

/// Another one in each process: workspaces are numbered by their rank 0, and ranks give up those of
/// several in the order of the numbers.
std::uint64_t first_number() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ticks = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
    return (ticks << 16) + static_cast<std::uint64_t>(getpid() % (1 << 16));
}

/// Collective. Whether all ranks hold the workspace of this number, which isn't 0.
Result<bool> agree_on_number(MPI_Comm program, std::uint64_t mine) {
    // The largest number and, turned round, the smallest.
    std::array<std::uint64_t, 2> extremes{mine, ~mine};
    auto agreed =
        check(host().Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_UINT64_T, MPI_MAX, program),
              "agreeing on a kept workspace");
    if (!agreed) return agreed.error();
    return mine != 0 && extremes[0] == ~extremes[1];
}

}  // namespace

Workspaces::Workspaces()
    : last_number_(first_number()),
      of_world_(std::make_shared<Shelf>(Shelf{true, {}})),
      of_self_(std::make_shared<Shelf>(Shelf{true, {}})),
      key_(MPI_KEYVAL_INVALID) {}

/// Null when nothing can be kept.
std::shared_ptr<Shelf> Workspaces::shelf_of(MPI_Comm program) {
    int ranks = 0;
    host().Comm_size(program, &ranks);
    if (world_exists()) {
        if (ranks == 1) return of_self_;
        int all = 0;
        int difference = MPI_UNEQUAL;
        host().Comm_size(MPI_COMM_WORLD, &all);
        if (all == ranks) host().Comm_compare(program, MPI_COMM_WORLD, &difference);
        if (difference == MPI_IDENT || difference == MPI_CONGRUENT) return of_world_;
    }
    return shelf_on(program);
}

/// The communicator's own shelf, made when it has none.
std::shared_ptr<Shelf> Workspaces::shelf_on(MPI_Comm program) {
    if (of_world_ == nullptr) return nullptr;
    if (key_ == MPI_KEYVAL_INVALID &&
        host().Comm_create_keyval(copy_no_shelf, drop_shelf, &key_, nullptr) != MPI_SUCCESS)
        return nullptr;
    void* held = nullptr;
    int found = 0;
    host().Comm_get_attr(program, key_, static_cast<void*>(&held), &found);
    if (found != 0) return *static_cast<std::shared_ptr<Shelf>*>(held);
    auto made = std::make_unique<std::shared_ptr<Shelf>>(std::make_shared<Shelf>());
    if (host().Comm_set_attr(program, key_, made.get()) != MPI_SUCCESS) return nullptr;
    return *made.release();
}

Result<LentWorkspace> Workspaces::lend(MPI_Comm program, int ranks_per_node) {
    if (auto valid = Comm::check_kind(program); !valid) return valid.error();
    LentWorkspace kept = take(program);
    if (!kept.ordered) {
        const auto agreed = agree_on_number(program, kept.number);
        if (!agreed || !*agreed) {
            const auto home = kept.home;
            put(std::move(kept));
            if (!agreed) return agreed.error();
            return make(program, ranks_per_node, home);
        }
    }
    // Before the first thing that the ranks of the new file agree on. Where there is no counter,
    // who uses it is told so.
    if (kept.rank() == 0) (void)kept.workspace->transport->set_counter(0);
    return kept;
}

/// Empty but for its home when there is none.
LentWorkspace Workspaces::take(MPI_Comm program) {
    const std::lock_guard lock(mutex_);
    LentWorkspace kept;
    const auto shelf = shelf_of(program);
    if (shelf != nullptr && !shelf->idle.empty()) {
        kept = std::move(shelf->idle.back());
        shelf->idle.pop_back();
    }
    kept.home = shelf;
    return kept;
}

/// Destroys it where its home is no more.
void Workspaces::put(LentWorkspace kept) {
    if (kept.workspace == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (const auto shelf = kept.home.lock()) shelf->idle.push_back(std::move(kept));
}

Result<LentWorkspace> Workspaces::make(MPI_Comm program, int ranks_per_node,
                                       std::weak_ptr<Shelf> home) {
    auto opened = open_transport(program, ranks_per_node);
    if (!opened) return opened.error();
    Transport& ranks = *opened->transport;
    const bool names_it = ranks.topology().rank == 0;
    std::array<std::uint64_t, 2> facts{names_it ? ++last_number_ : 0,
                                       files_come_in_order() ? 0u : 1u};
    if (auto told = reduce(ranks, facts, ReduceOp::max); !told) return told.error();
    return LentWorkspace{std::make_shared<Workspace>(std::move(opened->transport)),
                         opened->messages, facts[0], facts[1] == 0, std::move(home)};
}

void Workspaces::give_back(LentWorkspace lent) {
    if (lent.workspace == nullptr) return;
    Transport& ranks = *lent.workspace->transport;
    std::uint64_t fate = !ranks.quiet()   ? Fate::abandon
                         : has_room(lent) ? Fate::keep
                                          : Fate::destroy;
    const auto agreed = reduce(ranks, std::span(&fate, 1), ReduceOp::max);
    if (!agreed || fate == Fate::abandon) return lent.messages->abandon();
    if (fate == Fate::destroy) return;
    lent.workspace->tidy();
    put(std::move(lent));
}

/// A communicator is freed at another time on other ranks, or never, so what lies there must be
/// free to go without them, or to stay.
bool Workspaces::has_room(const LentWorkspace& lent) {
    const std::lock_guard lock(mutex_);
    const auto shelf = lent.home.lock();
    return shelf != nullptr && shelf->idle.empty() &&
           (shelf->lasting || !lent.messages->has_shared_counter());
}

void Workspaces::close(std::vector<const LentWorkspace*> in_use) {
    // All ranks of a window must come to free it: in one order, whoever shares which. No thread
    // that serves a counter may outlive MPI.
    std::ranges::sort(in_use, {}, &LentWorkspace::number);
    for (const LentWorkspace* lent : in_use)
        if (lent->messages != nullptr) lent->messages->drop_counter();
    std::vector<std::shared_ptr<Shelf>> all;
    {
        const std::lock_guard lock(mutex_);
        all = {std::exchange(of_world_, nullptr), std::exchange(of_self_, nullptr)};
        if (key_ != MPI_KEYVAL_INVALID) host().Comm_free_keyval(&key_);
    }
}

}  // namespace oratorio::bind
