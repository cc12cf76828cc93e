// SPDX-License-Identifier: BSD-3-Clause
// Gathers of all ranks' data whose result each node stores only once, over a real MPI with
// simulated nodes. Every rank reads the right list, and unless each node has one rank, no gather
// takes a collective operation of all ranks.
#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "mpi/check.hpp"
#include "mpi/open_transport.hpp"

namespace oratorio::test {
namespace {

using Block = std::array<std::uint64_t, 6>;

Block block_of(Rank rank, std::uint64_t turn) {
    Block block;
    std::iota(block.begin(), block.end(), 1000 * turn + 10 * static_cast<std::uint64_t>(rank));
    return block;
}

void gather_once(Transport& transport, std::uint64_t turn) {
    const Topology& topology = transport.topology();
    auto gathering = Gathering<Block>::once_for_node(block_of(topology.rank, turn));
    auto done = gathering.step(transport);
    for (; done && *done != Step::done; done = gathering.step(transport)) transport.idle();
    CHECK(done.ok());
    CHECK(std::ssize(gathering.all()) == topology.size);
    for (Rank rank = 0; done && rank < topology.size; ++rank)
        CHECK(gathering.all()[static_cast<std::size_t>(rank)] == block_of(rank, turn));
}

void lists_are_right(int ranks_per_node) {
    CounterService counters;
    auto opened = open_transport(MPI_COMM_WORLD, counters, Agreed<int>::vouch(ranks_per_node),
                                 agreed_from([] { return std::size_t{0}; }));
    CHECK(opened.ok());
    Transport& transport = *opened->transport;
    const auto ranks = static_cast<std::size_t>(transport.topology().size);
    const bool several = ranks_per_node > 1 && transport.topology().nodes() > 1;
    CHECK(list_of_node(transport, ranks * sizeof(Block)).empty() != several);
    const std::int64_t before = opened->messages->counters().collectives;
    for (std::uint64_t turn = 0; turn < 20; ++turn) gather_once(transport, turn);
    const std::int64_t among_all = opened->messages->counters().collectives - before;
    CHECK(among_all == 0 || ranks_per_node == 1);
    CHECK(transport.quiet());
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    using namespace oratorio::test;
    MPI_Init(&argc, &argv);
    for (const int ranks_per_node : {0, 1, 2, 3}) lists_are_right(ranks_per_node);
    const int code = verdict("node lists");
    MPI_Finalize();
    return code;
}
