// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/open_transport.hpp"

#include "comm/node_transport.hpp"
#include "comm/shared_segment.hpp"
#include "mpi/discover.hpp"

namespace oratorio {

namespace {

/// Collective. Opens a transport of the first ranks (the leaders) of all nodes, in the nodes'
/// order; returns null on other ranks.
Result<std::unique_ptr<Transport>> open_leaders(const MpiTransport& all,
                                                MpiTransport::Chores chores) {
    const Topology& topology = all.topology();
    const bool leads = first_beside(topology, topology.rank) == topology.rank;
    auto comm = Comm::some(all.comm(), leads);
    if (!comm) return comm.error();
    if (!comm->has_value()) return std::unique_ptr<Transport>();
    Topology leaders;
    leaders.size = (*comm)->size();
    leaders.rank = (*comm)->rank();
    leaders.cores = topology.cores;
    leaders.nodes_of_machine = topology.nodes_of_machine;
    leaders.node_names = topology.node_names;
    for (int node = 0; node < leaders.size; ++node) leaders.node_of.push_back(node);
    return std::unique_ptr<Transport>(
        std::make_unique<MpiTransport>(std::move(**comm), std::move(leaders), chores));
}

}  // namespace

Result<OpenedTransport> open_transport(MPI_Comm program, CounterService& counters,
                                       const Agreed<int>& ranks_per_node,
                                       const Agreed<std::size_t>& listed_from,
                                       MpiTransport::Chores chores) {
    auto topology = discover(program, ranks_per_node);
    if (!topology) return topology.error();
    auto own = Comm::duplicate(program);
    if (!own) return own.error();
    return open_transport(std::move(*own), std::move(*topology), counters, listed_from, chores);
}

Result<OpenedTransport> open_transport(Comm own, Topology topology, CounterService& counters,
                                       const Agreed<std::size_t>& listed_from,
                                       MpiTransport::Chores chores) {
    auto opened = std::make_unique<MpiTransport>(std::move(own), std::move(topology), chores);
    MpiTransport& messages = *opened;
    auto transport = NodeTransport::over(
        std::move(opened), [&] { return open_leaders(messages, chores); }, listed_from);
    if (!transport) return transport.error();
    if (!(*transport)->in_memory()) messages.share_counter(counters);
    return OpenedTransport{std::move(*transport), &messages};
}

}  // namespace oratorio
