// SPDX-License-Identifier: BSD-3-Clause
// The contract of bind/workspaces.hpp, over a real MPI with any number of ranks.
#include "bind/workspaces.hpp"

#include <vector>

#include "mpi/check.hpp"

namespace oratorio::test {
namespace {

using bind::LentWorkspace;
using bind::Workspaces;

int communicators_made = 0;

/// Counts the library's calls that create communicators from now on.
void count_communicators() {
    static const auto create = host().Comm_create;
    const_cast<Host&>(host()).Comm_create = [](MPI_Comm of, MPI_Group group, MPI_Comm* made) {
        ++communicators_made;
        return create(of, group, made);
    };
}

int node_searches = 0;
bool node_search_fails = false;

/// Counts the library's searches for the nodes of the ranks from now on. A search fails on this
/// rank while `node_search_fails` is set.
void count_node_searches() {
    static const auto split = host().Comm_split_type;
    const_cast<Host&>(host()).Comm_split_type = [](MPI_Comm of, int type, int key, MPI_Info info,
                                                   MPI_Comm* made) -> int {
        ++node_searches;
        const int code = split(of, type, key, info, made);
        if (code != MPI_SUCCESS || !node_search_fails) return code;
        MPI_Comm_free(made);
        return MPI_ERR_NO_MEM;
    };
}

MPI_Comm watched = MPI_COMM_NULL;
int reductions_there = 0;

/// Counts the library's reductions on the communicator `watched` from now on.
void count_reductions() {
    static const auto allreduce = host().Allreduce;
    const_cast<Host&>(host()).Allreduce = [](const void* from, void* to, int count,
                                             MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
        reductions_there += comm == watched ? 1 : 0;
        return allreduce(from, to, count, type, op, comm);
    };
}

LentWorkspace lend(Workspaces& workspaces, MPI_Comm comm, int ranks_per_node = 0) {
    auto lent = workspaces.lend(comm, ranks_per_node);
    CHECK(lent.ok());
    return std::move(lent->workspace);
}

int size_of(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
}

/// Returns a communicator with the ranks in reverse order. With more than one rank it has a cache
/// slot of its own, unlike a duplicate of MPI_COMM_WORLD.
MPI_Comm turned_round() {
    int rank = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    return comm;
}

void the_second_makes_neither_communicator_nor_memory(MPI_Comm comm) {
    Workspaces workspaces;
    LentWorkspace lent = lend(workspaces, comm);
    while (*lent.workspace->node.prepare(*lent.workspace->transport, 1, false) != Step::done)
        lent.workspace->transport->idle();
    const Workspace* const first = lent.workspace.get();
    const std::byte* const memory = lent.workspace->node.buffers().data();
    for (unsigned number = 0; number < 17; ++number)
        CHECK(lent.workspace->numbers.next() == number);
    (void)lent.workspace->transport->counter().fetch_add(5);
    workspaces.give_back(std::move(lent));
    const int made = communicators_made;
    lent = lend(workspaces, comm);
    CHECK(communicators_made == made);
    CHECK(lent.workspace.get() == first && lent.workspace->node.buffers().data() == memory);
    CHECK(lent.workspace->numbers.next() == 17);
    std::uint64_t met = 0;
    CHECK(reduce(*lent.workspace->transport, std::span(&met, 1), ReduceOp::sum).ok());
    CHECK(*lent.workspace->transport->counter().fetch_add(0) == 0);
    workspaces.give_back(std::move(lent));
    workspaces.close();
}

/// Borrows workspaces for duplicates of MPI_COMM_WORLD, as for libraries that open each file on a
/// duplicate of their own. The duplicates share the world's workspace.
void duplicates_of_the_world_share_theirs() {
    Workspaces workspaces;
    workspaces.give_back(lend(workspaces, MPI_COMM_WORLD));
    const int made = communicators_made;
    for (int i = 0; i < 3; ++i) {
        MPI_Comm duplicate = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
        workspaces.give_back(lend(workspaces, duplicate));
        MPI_Comm_free(&duplicate);
    }
    CHECK(communicators_made == made);
    workspaces.close();
}

void two_at_once_are_two_and_one_is_kept(MPI_Comm comm) {
    Workspaces workspaces;
    LentWorkspace one = lend(workspaces, comm);
    LentWorkspace two = lend(workspaces, comm);
    CHECK(one.workspace != two.workspace && one.number != two.number);
    const std::weak_ptr<Workspace> kept = one.workspace;
    const std::weak_ptr<Workspace> gone = two.workspace;
    workspaces.give_back(std::move(one));
    workspaces.give_back(std::move(two));
    one = {};
    two = {};
    CHECK(!kept.expired() && gone.expired());
    workspaces.close();
}

/// Checks that the nodes of a communicator's ranks are found once, however many files are open.
void the_nodes_are_found_once(MPI_Comm comm) {
    Workspaces workspaces;
    const int before = node_searches;
    LentWorkspace one = lend(workspaces, comm);
    LentWorkspace two = lend(workspaces, comm);
    CHECK(node_searches == before + 1);
    CHECK(one.workspace->transport->topology().node_names ==
          two.workspace->transport->topology().node_names);
    workspaces.give_back(std::move(one));
    workspaces.give_back(std::move(two));
    workspaces.close();
}

/// Checks that all ranks get the same error if one rank can't find its node, and that a later open
/// searches again.
void a_search_that_fails_on_one_rank_is_an_error_of_all(MPI_Comm comm) {
    Workspaces workspaces;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const Rank last = size_of(comm) - 1;
    node_search_fails = rank == last;
    const auto refused = workspaces.lend(comm, 0);
    node_search_fails = false;
    CHECK(!refused.ok() && refused.error().kind == ErrorKind::no_memory);
    CHECK(refused.error().rank == last);
    workspaces.give_back(lend(workspaces, comm));
    workspaces.close();
}

/// Gives back a workspace that has a pending receive on one rank. No rank keeps the workspace.
void one_in_disorder_is_not_kept(MPI_Comm comm) {
    Workspaces workspaces;
    LentWorkspace lent = lend(workspaces, comm);
    const std::weak_ptr<Workspace> gone = lent.workspace;
    std::byte never{};
    if (lent.rank() == size_of(comm) - 1)
        CHECK(lent.workspace->transport->receive(kAnyRank, 1, std::span(&never, 1)).ok());
    workspaces.give_back(std::move(lent));
    lent = {};
    CHECK(gone.expired());
    workspaces.close();
}

/// Frees a communicator, which frees its cached workspace. With `open` a file still uses the
/// workspace, which is then freed when the file gives it back.
void they_go_with_their_communicator(bool open) {
    MPI_Comm comm = turned_round();
    if (size_of(comm) == 1) return void(MPI_Comm_free(&comm));
    Workspaces workspaces;
    LentWorkspace lent = lend(workspaces, comm);
    const std::weak_ptr<Workspace> workspace = lent.workspace;
    if (!open) {
        workspaces.give_back(std::move(lent));
        lent = {};
        CHECK(!workspace.expired());
    }
    MPI_Comm_free(&comm);
    CHECK(workspace.expired() == !open);
    if (open) workspaces.give_back(std::move(lent));
    lent = {};
    CHECK(workspace.expired());
    workspaces.close();
}

/// Checks that on several nodes a workspace stays cached until its communicator is freed. Each rank
/// frees the workspace independently.
void of_several_nodes_they_are_kept_until_their_communicator_is_freed() {
    Workspaces workspaces;
    MPI_Comm comm = turned_round();
    const bool own_shelf = size_of(comm) > 1;
    LentWorkspace lent = lend(workspaces, comm, 1);
    const std::weak_ptr<Workspace> workspace = lent.workspace;
    workspaces.give_back(std::move(lent));
    lent = {};
    CHECK(!workspace.expired());
    MPI_Comm_free(&comm);
    CHECK(workspace.expired() == own_shelf);
    workspaces.close();
}

void large_memory_is_not_kept(MPI_Comm comm) {
    Workspaces workspaces;
    for (const Bytes bytes : {Workspace::kept_max, Workspace::kept_max + 1}) {
        LentWorkspace lent = lend(workspaces, comm);
        Workspace& workspace = *lent.workspace;
        while (*workspace.node.prepare(*workspace.transport, bytes, false) != Step::done)
            workspace.transport->idle();
        { const BufferPool::Lease lease = workspace.buffers.take(bytes); }
        CHECK(workspace.buffers.held() >= bytes && !workspace.node.buffers().empty());
        workspaces.give_back(std::move(lent));
        lent = lend(workspaces, comm);
        const bool kept = bytes == Workspace::kept_max;
        CHECK((lent.workspace->buffers.held() == bytes) == kept);
        CHECK(lent.workspace->node.buffers().empty() == !kept);
        workspaces.give_back(std::move(lent));
    }
    workspaces.close();
}

/// Borrows workspaces when communicators run out. MPICH has about 2000. The last few do not suffice
/// for all that an open creates, so every rank gets the error.
void where_communicators_run_out_all_ranks_get_one_error() {
    constexpr int kMany = 3000;
    if (size_of(MPI_COMM_WORLD) != 2) return;  // creating that many takes long
    std::vector<MPI_Comm> all;
    MPI_Comm another = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (static_cast<int>(all.size()) < kMany &&
           MPI_Comm_dup(MPI_COMM_WORLD, &another) == MPI_SUCCESS)
        all.push_back(another);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    const bool ran_out = static_cast<int>(all.size()) < kMany;
    for (int left = 0; ran_out && left < 5; ++left) {
        Workspaces workspaces;
        for (const int ranks_per_node : {0, 1, 2}) {
            auto lent = workspaces.lend(MPI_COMM_WORLD, ranks_per_node);
            int failed = lent.ok() ? 0 : 1, sum = 0;
            MPI_Allreduce(&failed, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            CHECK(sum == failed * size_of(MPI_COMM_WORLD));
            CHECK(left > 0 || failed == 1);
            if (lent) workspaces.give_back(std::move(lent->workspace));
        }
        workspaces.close();
        MPI_Comm_free(&all.back());
        all.pop_back();
    }
    for (MPI_Comm& each : all) MPI_Comm_free(&each);
}

/// Counts the reductions that check whether all ranks have the library. The first file on a
/// communicator needs one more, in which the nodes' names are gathered. With MPICH the check is one
/// reduction. With Open MPI it also creates the file's communicator, and saves the reduction by
/// which ranks otherwise agree that this succeeded.
void that_all_ranks_have_the_library_is_asked_once_for_all_duplicates() {
    MPI_Comm comm = turned_round();
    if (size_of(comm) == 1) return void(MPI_Comm_free(&comm));
    Workspaces workspaces;
    const auto reductions_of = [&](MPI_Comm each, LentWorkspace& lent) {
        watched = each;
        reductions_there = 0;
        lent = lend(workspaces, each);
        return reductions_there;
    };
    const bool is_mpich = library_version().find("MPICH Version:") != std::string::npos;
    LentWorkspace one, two, three;
    const int first = reductions_of(comm, one) - 1;
    const int second = reductions_of(comm, two);
    CHECK(first == (is_mpich ? second + 1 : second - 1));
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &duplicate);
    CHECK(reductions_of(duplicate, three) == second + 1);
    for (LentWorkspace* const lent : {&one, &two, &three}) workspaces.give_back(std::move(*lent));
    workspaces.close();
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&comm);
}

void ranks_are_listed_briefly() {
    CHECK(list_of_ranks({2, 3, 4, 7}, 24) == "2-4, 7");
    CHECK(list_of_ranks({0, 1}, 24) == "0-1");
    CHECK(list_of_ranks({1, 3, 5, 7, 9, 11}, 12) == "1, 3, 5, 7, ...");
}

void nothing_is_kept_after_the_end() {
    Workspaces workspaces;
    workspaces.close();
    LentWorkspace lent = lend(workspaces, MPI_COMM_WORLD);
    const std::weak_ptr<Workspace> gone = lent.workspace;
    workspaces.give_back(std::move(lent));
    lent = {};
    CHECK(gone.expired());
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    count_communicators();
    count_reductions();
    count_node_searches();
    MPI_Comm comm = turned_round();
    for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF, comm}) {
        the_second_makes_neither_communicator_nor_memory(each);
        two_at_once_are_two_and_one_is_kept(each);
        the_nodes_are_found_once(each);
        a_search_that_fails_on_one_rank_is_an_error_of_all(each);
        one_in_disorder_is_not_kept(each);
        large_memory_is_not_kept(each);
    }
    MPI_Comm_free(&comm);
    duplicates_of_the_world_share_theirs();
    they_go_with_their_communicator(false);
    they_go_with_their_communicator(true);
    of_several_nodes_they_are_kept_until_their_communicator_is_freed();
    where_communicators_run_out_all_ranks_get_one_error();
    that_all_ranks_have_the_library_is_asked_once_for_all_duplicates();
    ranks_are_listed_briefly();
    nothing_is_kept_after_the_end();
    const int code = verdict("workspaces");
    MPI_Finalize();
    return code;
}
