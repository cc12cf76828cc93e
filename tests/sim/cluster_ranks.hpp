// SPDX-License-Identifier: BSD-3-Clause
// Cluster: simulated ranks that behave as separate processes, on nodes that share a file. A lock on
// the file is visible either on its own node only or on all nodes.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "sim/file_ranks.hpp"
#include "support/memory_store.hpp"
#include "support/sim_locks.hpp"

namespace oratorio::test {

inline constexpr int kRanks = 4;
/// A path in a folder that does not exist, so that nothing is known about its file system.
inline constexpr const char* kPath = "/no such folder/data";

/// A file that all nodes share, and the locks on it.
struct Cluster {
    bool locks_are_common = false;
    bool has_locks = true;
    long file_system = 0;      ///< type (f_type) that stores report; 0: unknown
    std::uint64_t device = 1;  ///< 0: mounts can't be told apart
    MemoryDisk disk;
    std::map<int, MemoryDisk> locks;  ///< the locks that each node sees, by node
    /// Number of queries for locks of other owners.
    int probes = 0;
    int exclusive_locks = 0;    ///< number of exclusive locks that were taken
    Rank without_reading = -1;  ///< the rank that may not read the file; -1: all may
};

class ClusterStore final : public MemoryStore {
  public:
    ClusterStore(Cluster& cluster, int node, const OpenMode& mode,
                 const std::function<void()>& others)
        : MemoryStore(
              cluster.disk,
              {.mode = mode, .yields = true, .number = {.device = cluster.device, .number = 2}},
              others),
          cluster_(cluster),
          facts_(MemoryStore::facts()),
          locks_(cluster.locks[cluster.locks_are_common ? 0 : node], {}, others) {
        facts_.kind.file_system = cluster.file_system;
    }

    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }
    Result<void> lock(Extent range, bool lock, bool exclusive) override {
        if (!cluster_.has_locks) return Error::of_errno("lock", ENOLCK);
        cluster_.exclusive_locks += lock && exclusive ? 1 : 0;
        return locks_.lock(range, lock, exclusive);
    }
    Result<bool> is_locked_elsewhere(Extent range) override {
        if (!cluster_.has_locks) return Error::of_errno("lock", ENOLCK);
        ++cluster_.probes;
        return locks_.is_locked_elsewhere(range);
    }
    Result<void> close() override {
        if (auto closed = MemoryStore::close(); !closed) return closed;
        return locks_.close();
    }

  private:
    Cluster& cluster_;
    StoreFacts facts_;
    MemoryStore locks_;
};

/// A transport of a single rank, like that of MPI_COMM_SELF.
class Alone final : public Lent {
  public:
    explicit Alone(Transport& rank) : Lent(rank) {}
    const Topology& topology() const override { return topology_; }
    Result<Ticket> reduce(std::span<std::uint64_t>, ReduceOp) override { return Ticket{0}; }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        std::ranges::copy(mine, all.begin());
        return Ticket{0};
    }
    Result<Ticket> broadcast(Rank, std::span<std::byte>) override { return Ticket{0}; }
    Result<Completion> test(Ticket) override { return Completion{true}; }
    SharedCounter& counter() override { return counter_; }

  private:
    Topology topology_;
    std::atomic<std::int64_t> number_{0};
    MemoryCounter counter_{number_};
};

/// Counts the reductions, broadcasts and messages of a rank.
class Counting final : public Lent {
  public:
    Counting(Transport& owner, int& collectives, int& messages)
        : Lent(owner), collectives_(collectives), messages_(messages) {}
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        ++messages_;
        return Lent::send(to, tag, data);
    }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        ++collectives_;
        return Lent::reduce(values, op);
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        ++collectives_;
        return Lent::broadcast(root, data);
    }

  private:
    int& collectives_;
    int& messages_;
};

/// One rank of the job. Like a process, it has its own job locks.
class Process {
  public:
    Process(Transport& ranks, Cluster& cluster, SimLocks& job)
        : ranks_(ranks),
          cluster_(cluster),
          services_(job, [&ranks] { ranks.idle(); }),
          locks_(services_) {}

    [[nodiscard]] Rank rank() const { return ranks_.topology().rank; }
    /// Lets other ranks run long enough that they wait for this one afterwards.
    void rest() {
        for (int i = 0; i < 1000; ++i) ranks_.idle();
    }
    OpenResult open(bool self, AccessMode mode = kCreate, HintMap info = {}) {
        OpenCall call = call_of(kPath, mode, std::move(info));
        call.locks = &locks_;
        call.covers_job = covers_job && !self;
        call.narrate = [this](const std::string& text) { told += text; };
        const int node = ranks_.topology().node(rank());
        call.open_store = [this, node](const std::string&,
                                       const OpenMode& how) -> Result<std::unique_ptr<Store>> {
            if (how.read && rank() == cluster_.without_reading)
                return Error::make(ErrorKind::access, "open: not allowed to read");
            return std::unique_ptr<Store>(
                std::make_unique<ClusterStore>(cluster_, node, how, [this] { ranks_.idle(); }));
        };
        auto transport = self ? std::unique_ptr<Transport>(std::make_unique<Alone>(ranks_))
                              : std::make_unique<Counting>(ranks_, collectives, messages);
        return File::open(std::make_shared<Workspace>(std::move(transport)), call);
    }

    /// Number of reductions and broadcasts in the files that all ranks have opened together.
    int collectives = 0;
    int messages = 0;
    std::string told;        ///< warnings and explanations of this rank's files
    bool covers_job = true;  ///< the ranks of the test are all processes of the job

  private:
    Transport& ranks_;
    Cluster& cluster_;
    SimLockServices services_;
    JobLocks locks_;
};

template <class Body>
void on_cluster(Cluster& cluster, SimLocks& job, std::uint64_t seed, const Body& body,
                int ranks_per_node = 1) {
    SimOptions options;
    options.ranks = kRanks;
    options.ranks_per_node = ranks_per_node;
    options.seed = seed;
    options.switch_percent = 50;
    run_ranks(options, [&](Transport& transport) {
        Process process(transport, cluster, job);
        body(process);
    });
}

}  // namespace oratorio::test
