// SPDX-License-Identifier: BSD-3-Clause
#include "latencies.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "bind/host_routine.hpp"
#include "network.hpp"
#include "timing.hpp"

namespace oratorio::calibrate {

namespace {

constexpr int kSmall = 8;  // bytes of a message

/// Returns the partner of player `mine` in a round of a round-robin tournament (circle method), in
/// which each player meets each other player once in `players` - 1 rounds. REQUIRES: `players` is
/// even.
int opponent(int mine, int round, int players) {
    const int circle = players - 1;  // the last player stays outside the circle
    if (mine == circle) return round * (players / 2) % circle;
    const int other = (round - mine + circle) % circle;
    return other == mine ? circle : other;
}

/// Returns half of the fastest round trip of a message between two ranks. The lower rank sends
/// first.
Nanoseconds measure_pair(MPI_Comm comm, int mine, int other, int turns) {
    char data[kSmall] = {};
    const auto send = [&] { ORATORIO_HOST(MPI_Send)(data, kSmall, MPI_BYTE, other, 0, comm); };
    const auto receive = [&] {
        ORATORIO_HOST(MPI_Recv)(data, kSmall, MPI_BYTE, other, 0, comm, MPI_STATUS_IGNORE);
    };
    Nanoseconds fastest = std::numeric_limits<Nanoseconds>::max();
    for (int turn = 0; turn < turns; ++turn) {
        const Stopwatch watch;
        if (mine < other) send();
        receive();
        if (mine > other) send();
        fastest = std::min(fastest, watch.elapsed() / 2);
    }
    return fastest;
}

/// Collective over `leaders`, the first ranks of all nodes. Returns the latencies that this rank
/// has measured, by the number of the other node.
std::vector<Nanoseconds> measure_node(MPI_Comm leaders, int mine, int nodes, int turns) {
    std::vector<Nanoseconds> row(static_cast<std::size_t>(nodes), 0);
    const int players = nodes + nodes % 2;  // a player without a node makes the number even
    for (int round = 0; round < players - 1; ++round) {
        const int other = opponent(mine, round, players);
        if (other < nodes)
            row[static_cast<std::size_t>(other)] = measure_pair(leaders, mine, other, turns);
        wait_asleep(leaders);
    }
    return row;
}

/// Collective over `leaders`. The first rank prints the names and the latencies of all nodes.
void print_all(MPI_Comm leaders, const std::vector<Nanoseconds>& row) {
    const std::size_t nodes = row.size();
    int mine = 0, length = 0;
    ORATORIO_HOST(MPI_Comm_rank)(leaders, &mine);
    std::vector<char> name(MPI_MAX_PROCESSOR_NAME + 1);
    ORATORIO_HOST(MPI_Get_processor_name)(name.data(), &length);
    std::vector<char> names(mine == 0 ? nodes * name.size() : 0);
    std::vector<Nanoseconds> rows(mine == 0 ? nodes * nodes : 0);
    const int count = static_cast<int>(nodes);
    const int width = static_cast<int>(name.size());
    ORATORIO_HOST(MPI_Gather)
    (name.data(), width, MPI_CHAR, names.data(), width, MPI_CHAR, 0, leaders);
    ORATORIO_HOST(MPI_Gather)
    (row.data(), count, MPI_DOUBLE, rows.data(), count, MPI_DOUBLE, 0, leaders);
    if (mine != 0) return;
    for (std::size_t node = 0; node < nodes; ++node)
        std::printf("node\t%s\n", &names[node * name.size()]);
    for (std::size_t low = 0; low < nodes; ++low)
        for (std::size_t high = low + 1; high < nodes; ++high)
            std::printf("latency\t%zu\t%zu\t%.6g\n", low, high, rows[low * nodes + high]);
}

}  // namespace

void measure_latencies(int turns) {
    int rank = 0, rank_on_node = 0, nodes = 0;
    MPI_Comm node = MPI_COMM_NULL, leaders = MPI_COMM_NULL;
    ORATORIO_HOST(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    ORATORIO_HOST(MPI_Comm_split_type)
    (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    ORATORIO_HOST(MPI_Comm_rank)(node, &rank_on_node);
    ORATORIO_HOST(MPI_Comm_free)(&node);
    ORATORIO_HOST(MPI_Comm_split)
    (MPI_COMM_WORLD, rank_on_node == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
    if (rank_on_node == 0) {
        ORATORIO_HOST(MPI_Comm_size)(leaders, &nodes);
        ORATORIO_HOST(MPI_Comm_rank)(leaders, &rank);
        print_all(leaders, measure_node(leaders, rank, nodes, turns));
        ORATORIO_HOST(MPI_Comm_free)(&leaders);
    }
    wait_asleep(MPI_COMM_WORLD);
}

}  // namespace oratorio::calibrate
