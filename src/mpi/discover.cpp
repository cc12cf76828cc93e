// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/discover.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/descriptor.hpp"
#include "mpi/comm.hpp"
#include "mpi/errors_returned.hpp"

namespace oratorio {
namespace {

std::string processor_name() {
    char name[MPI_MAX_PROCESSOR_NAME + 1] = {};
    int length = 0;
    host().Get_processor_name(name, &length);
    return name;
}

/// Collective. Returns the lowest rank on this rank's node.
Result<Rank> node_leader(MPI_Comm comm) {
    const auto node = Comm::split_by_node(comm);
    if (!node) return node.error();
    return node->first_rank_in(comm);
}

/// Collective. Returns for each rank the lowest rank on its node. A rank that can't find its node
/// sends the negative kind of its error in place of a rank.
Result<std::vector<Rank>> node_leaders(MPI_Comm comm, Rank rank, int size) {
    const auto found = node_leader(comm);
    const int mine = found ? *found : -static_cast<int>(found.error().kind);
    std::vector<Rank> leaders(static_cast<std::size_t>(size));
    if (auto gathered = check(host().Allgather(&mine, 1, MPI_INT, leaders.data(), 1, MPI_INT, comm),
                              "gathering node leaders");
        !gathered)
        return gathered.error();
    if (!found) return found.error().on(rank);
    const auto failed = std::ranges::min_element(leaders);
    if (*failed >= 0) return leaders;
    return Error::make(static_cast<ErrorKind>(-*failed), "another rank can't determine its node")
        .on(static_cast<Rank>(failed - leaders.begin()));
}

/// Numbers the nodes in the order of their first ranks. A leader is the lowest rank of its node, so
/// it comes before the node's other ranks.
RankMap number_nodes(const std::vector<Rank>& leaders) {
    RankMap placement;
    for (std::size_t rank = 0; rank < leaders.size(); ++rank) {
        const auto leader = static_cast<std::size_t>(leaders[rank]);
        placement.push_back(leader == rank ? placement.nodes() : placement[leader]);
    }
    return placement;
}

/// What a node's leader reports: the node's name, its number of cores, and the name of its machine,
/// which is the same for all nodes that one kernel runs, so that containers are recognized. An
/// empty machine name means that no other node shares the machine. An empty switch name means that
/// the node's switch isn't known.
struct NodeFacts {
    int cores = 0;
    char name[MPI_MAX_PROCESSOR_NAME + 1] = {};
    char machine[40] = {};
    char network_switch[64] = {};

    /// Sets the switch name. Keeps only the end of a name that is too long, because paths of
    /// switches differ at the end.
    void set_switch(std::string_view text) {
        constexpr std::size_t kMost = sizeof network_switch - 1;
        text.remove_prefix(text.size() - std::min(text.size(), kMost));
        text.copy(network_switch, kMost);
    }
};

NodeFacts facts_here() {
    NodeFacts here;
    here.cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    processor_name().copy(here.name, sizeof here.name - 1);
    // The file is read directly into place, because this runs in a collective call, where the
    // memory reserve provides small memory only.
    const Descriptor boot(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    const auto bytes = ::read(boot.number(), here.machine, sizeof here.machine - 1);
    here.machine[std::max<ssize_t>(bytes, 0)] = '\0';
    here.machine[std::strcspn(here.machine, "\n")] = '\0';
    return here;
}

/// Returns the facts of a pretended node, which counts as a machine of its own.
NodeFacts pretended_facts(int node) {
    NodeFacts pretended{.cores = facts_here().cores};
    (processor_name() + "-" + std::to_string(node)).copy(pretended.name, sizeof pretended.name - 1);
    return pretended;
}

/// Collective. Returns the facts of each node, set by its leader. Uses memory per node, not per
/// rank.
Result<std::vector<NodeFacts>> gather_facts(MPI_Comm comm, int nodes, int mine, bool leader,
                                            const NodeFacts& facts) {
    std::vector<NodeFacts> all(static_cast<std::size_t>(nodes));
    if (leader) all[static_cast<std::size_t>(mine)] = facts;
    const auto bytes = static_cast<int>(all.size() * sizeof(NodeFacts));
    if (auto merged =
            check(host().Allreduce(MPI_IN_PLACE, all.data(), bytes, MPI_BYTE, MPI_BOR, comm),
                  "gathering node names");
        !merged)
        return merged.error();
    return all;
}

/// Returns the number of each node's switch, as in Nodes::switch_of.
std::vector<int> number_switches(const std::vector<NodeFacts>& nodes) {
    std::map<std::string, int> numbers;
    std::vector<int> switch_of;
    for (const NodeFacts& one : nodes) {
        if (one.network_switch[0] == '\0') return {};
        const int next = static_cast<int>(numbers.size());
        switch_of.push_back(numbers.emplace(one.network_switch, next).first->second);
    }
    return numbers.size() > 1 ? switch_of : std::vector<int>();
}

int most_of_one_machine(const std::vector<NodeFacts>& nodes) {
    std::map<std::string, int> nodes_of;
    int most = 1;
    for (const NodeFacts& one : nodes)
        if (one.machine[0] != '\0') most = std::max(most, ++nodes_of[one.machine]);
    return most;
}

}  // namespace

Result<Topology> discover(MPI_Comm comm, const Agreed<int>& agreed, const SwitchNames& switches) {
    if (auto valid = Comm::check_kind(comm); !valid) return valid.error();
    const ErrorsReturned returned(comm);
    const int ranks_per_node = *agreed;
    Topology topology;
    host().Comm_rank(comm, &topology.rank);
    host().Comm_size(comm, &topology.size);
    std::vector<Rank> leaders(static_cast<std::size_t>(topology.size));
    if (ranks_per_node > 0) {
        for (Rank rank = 0; rank < topology.size; ++rank)
            leaders[static_cast<std::size_t>(rank)] = rank - rank % ranks_per_node;
    } else {
        auto found = node_leaders(comm, topology.rank, topology.size);
        if (!found) return found.error();
        leaders = std::move(*found);
    }
    topology.node_of = number_nodes(leaders);
    const auto me = static_cast<std::size_t>(topology.rank);
    const int node = topology.node_of[me];
    const bool leads = leaders[me] == topology.rank;
    NodeFacts mine = ranks_per_node > 0 ? pretended_facts(node) : facts_here();
    if (leads) mine.set_switch(switches.switch_of(mine.name));
    auto nodes = gather_facts(comm, topology.nodes(), node, leads, mine);
    if (!nodes) return nodes.error();
    for (const NodeFacts& one : *nodes) topology.node_names.emplace_back(one.name);
    topology.switch_of = number_switches(*nodes);
    topology.nodes_of_machine = most_of_one_machine(*nodes);
    // All ranks make the same plan, for the machine with the fewest cores.
    topology.cores = std::ranges::min_element(*nodes, {}, &NodeFacts::cores)->cores;
    return topology;
}

}  // namespace oratorio
