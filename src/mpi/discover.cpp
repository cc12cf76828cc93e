// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/discover.hpp"

#include <unistd.h>

#include <algorithm>

namespace oratorio {
namespace {

std::string processor_name() {
    char name[MPI_MAX_PROCESSOR_NAME + 1] = {};
    int length = 0;
    host().Get_processor_name(name, &length);
    return name;
}

/// Collective. Of each rank, the lowest rank on its node.
Result<std::vector<Rank>> node_leaders(const Comm& comm) {
    auto node = comm.split_by_node();
    if (!node) return node.error();
    Rank leader = comm.rank();
    if (auto sent =
            check(host().Bcast(&leader, 1, MPI_INT, 0, node->get()), "finding node leaders");
        !sent)
        return sent.error();
    std::vector<Rank> leaders(static_cast<std::size_t>(comm.size()));
    if (auto gathered =
            check(host().Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, comm.get()),
                  "gathering node leaders");
        !gathered)
        return gathered.error();
    return leaders;
}

/// Nodes by first appearance. A leader is the lowest rank of its node, so it appears there first.
Placement number_nodes(const std::vector<Rank>& leaders) {
    Placement placement;
    for (std::size_t rank = 0; rank < leaders.size(); ++rank) {
        const auto leader = static_cast<std::size_t>(leaders[rank]);
        placement.push_back(leader == rank ? placement.nodes() : placement[leader]);
    }
    return placement;
}

/// Collective. One name per node, as its leader tells it; costs memory per node, not per rank.
Result<std::vector<std::string>> gather_names(const Comm& comm, int nodes, int mine, bool leader,
                                              const std::string& name) {
    constexpr std::size_t kLength = MPI_MAX_PROCESSOR_NAME + 1;
    std::vector<char> all(static_cast<std::size_t>(nodes) * kLength);
    if (leader)
        std::copy_n(name.begin(), std::min(name.size(), kLength - 1), all.begin() + mine * kLength);
    if (auto merged = check(host().Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()),
                                             MPI_BYTE, MPI_BOR, comm.get()),
                            "gathering node names");
        !merged)
        return merged.error();
    std::vector<std::string> names;
    for (std::size_t node = 0; node < static_cast<std::size_t>(nodes); ++node)
        names.emplace_back(all.data() + node * kLength);
    return names;
}

/// Cores of the node that has the fewest, so that all ranks plan alike.
Result<int> fewest_cores(const Comm& comm) {
    int cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    auto reduced = check(host().Allreduce(MPI_IN_PLACE, &cores, 1, MPI_INT, MPI_MIN, comm.get()),
                         "counting the cores");
    if (!reduced) return reduced.error();
    return cores;
}

}  // namespace

Result<Topology> discover(const Comm& comm, const Agreed<int>& agreed) {
    const int ranks_per_node = *agreed;
    std::vector<Rank> leaders(static_cast<std::size_t>(comm.size()));
    std::string name = processor_name();
    if (ranks_per_node > 0) {
        for (Rank rank = 0; rank < comm.size(); ++rank)
            leaders[static_cast<std::size_t>(rank)] = rank - rank % ranks_per_node;
        name += "-" + std::to_string(comm.rank() / ranks_per_node);
    } else {
        auto found = node_leaders(comm);
        if (!found) return found.error();
        leaders = std::move(*found);
    }
    Topology topology;
    topology.rank = comm.rank();
    topology.size = comm.size();
    topology.node_of = number_nodes(leaders);
    const auto me = static_cast<std::size_t>(comm.rank());
    auto names = gather_names(comm, topology.nodes(), topology.node_of[me],
                              leaders[me] == comm.rank(), name);
    if (!names) return names.error();
    topology.node_names = std::move(*names);
    const auto cores = fewest_cores(comm);
    if (!cores) return cores.error();
    topology.cores = *cores;
    return topology;
}

}  // namespace oratorio
