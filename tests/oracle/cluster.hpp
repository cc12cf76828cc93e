// SPDX-License-Identifier: BSD-3-Clause
// Cluster: the nodes that a program's ranks run on. It holds the file, each node's access to the
// file, and the job's locks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "file/job_locks.hpp"
#include "oracle/client.hpp"
#include "oracle/lock_service.hpp"
#include "oracle/program.hpp"
#include "oracle/system_calls.hpp"

namespace oratorio::oracle {

class Cluster {
  public:
    /// `current_rank` returns the rank for which the running fiber works; the fiber is the rank's
    /// own or its helper thread's.
    Cluster(Fibers& fibers, const Program& program, std::function<Rank()> current_rank);

    Storage storage;
    SimulatedLocks locks;

    /// Returns a rank's store of the file.
    [[nodiscard]] std::unique_ptr<SimulatedStore> store_of(Rank rank, int handle);
    /// Returns true if the ranks open the file by simulated system calls, through the nodes'
    /// clients.
    [[nodiscard]] bool has_clients() const { return system_ != nullptr; }
    /// Returns the rank's view of the job's locks.
    [[nodiscard]] JobLocks& locks_of(Rank rank) {
        return locks_of_[static_cast<std::size_t>(rank)]->known;
    }

  private:
    struct RankLocks {
        RankLocks(SimulatedLocks& all, Rank rank) : services(all, rank) {}
        LocksOfRank services;
        JobLocks known{services};
    };
    [[nodiscard]] std::size_t node_of(Rank rank) const;

    Fibers& fibers_;
    const Program& program_;
    Server server_{storage};
    std::vector<std::unique_ptr<Client>> clients_;      ///< one client per node
    std::unique_ptr<System> system_;                    ///< null if the ranks' stores are on the
                                                        ///< file itself
    std::vector<std::unique_ptr<RankLocks>> locks_of_;  ///< one entry per rank
    std::vector<Fault> faults_;                         ///< storage fault of each rank, by rank
};

}  // namespace oratorio::oracle
