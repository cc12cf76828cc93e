// SPDX-License-Identifier: BSD-3-Clause
// Threads that borrow and return workspaces at the same moment, over several simulated nodes.
// MPI_Finalize follows.
#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#include "bind/workspaces.hpp"
#include "mpi/check.hpp"

namespace oratorio::test {
namespace {

using bind::LentWorkspace;
using bind::Workspaces;

constexpr std::size_t kThreads = 8;
constexpr int kTurns = 4;

/// Lets threads borrow and return workspaces at once. Each thread has a duplicate of
/// MPI_COMM_WORLD, so all threads share one cache slot, which keeps one workspace.
void threads_give_back_at_once(Workspaces& workspaces, const std::vector<MPI_Comm>& comms) {
    std::vector<std::weak_ptr<Workspace>> used(comms.size());
    std::barrier together(static_cast<std::ptrdiff_t>(comms.size()));
    const auto use = [&](std::size_t thread) {
        auto lent = workspaces.lend(comms[thread], 1);
        CHECK(lent.ok());
        used[thread] = lent->workspace.workspace;
        Transport& transport = *lent->workspace.workspace->transport;
        std::uint64_t met = 0;  // its reduction is a barrier, after which the counter is 0
        CHECK(reduce(transport, std::span(&met, 1), ReduceOp::sum).ok());
        const auto counted = transport.counter().fetch_add(1);
        CHECK(counted.ok() && *counted < transport.topology().size);
        together.arrive_and_wait();
        workspaces.give_back(std::move(lent->workspace));
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < comms.size(); ++i) threads.emplace_back(use, i);
    for (std::thread& thread : threads) thread.join();
    CHECK(std::ranges::count_if(used, [](const auto& one) { return !one.expired(); }) <= 1);
}

void run(Workspaces& workspaces) {
    std::vector<MPI_Comm> comms(kThreads);
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int turn = 0; turn < kTurns; ++turn) threads_give_back_at_once(workspaces, comms);
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    constexpr int kSkipped = 77;
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    oratorio::bind::Workspaces workspaces;
    if (level == MPI_THREAD_MULTIPLE) run(workspaces);
    const int result = verdict("workspaces_at_once");
    workspaces.close();
    MPI_Finalize();
    return level == MPI_THREAD_MULTIPLE ? result : kSkipped;
}
