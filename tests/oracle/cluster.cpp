// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/cluster.hpp"

#include <utility>

namespace oratorio::oracle {

Cluster::Cluster(Fibers& fibers, const Program& program, std::function<Rank()> current_rank)
    : locks(fibers),
      fibers_(fibers),
      program_(program),
      faults_(static_cast<std::size_t>(program.ranks)) {
    const Setting& setting = program.setting;
    for (Rank rank = 0; rank < program.ranks; ++rank)
        locks_of_.push_back(std::make_unique<RankLocks>(locks, rank));
    if (setting.fault_rank >= 0)
        faults_[static_cast<std::size_t>(setting.fault_rank)] = setting.fault;
    if (setting.failing_lock > 0) locks.refuse(setting.fault_rank, setting.failing_lock);
    if (setting.client == ClientKind::none) return;
    for (int node = 0; node < program.ranks; ++node)
        clients_.push_back(std::make_unique<Client>(fibers, server_, setting.client));
    system_ = std::make_unique<System>(
        setting.client, [this, current_rank] { return store_of(current_rank(), 0); },
        [this, current_rank]() -> Client& { return *clients_[node_of(current_rank())]; });
}

std::size_t Cluster::node_of(Rank rank) const {
    const int per_node = program_.setting.ranks_per_node;
    return static_cast<std::size_t>(per_node > 0 ? rank / per_node : 0);
}

std::unique_ptr<SimulatedStore> Cluster::store_of(Rank rank, int handle) {
    const Setting& setting = program_.setting;
    const int node = static_cast<int>(node_of(rank));
    test::MemoryStoreOptions options = server_options(facts_of(setting.client), node);
    options.seed = program_.schedule * 31 + static_cast<std::uint64_t>(rank * 7 + handle);
    options.asynchronous = setting.asynchronous;
    options.short_percent = options.interrupted_percent = options.again_percent =
        setting.trouble_percent;
    return std::make_unique<SimulatedStore>(fibers_, storage, rank,
                                            faults_[static_cast<std::size_t>(rank)], options);
}

}  // namespace oratorio::oracle
