// SPDX-License-Identifier: BSD-3-Clause
// Storage: the stores of a simulated file, one for each rank and open. Calls let other ranks
// run, range locks wait as those of the operating system do, and chosen requests fail.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "oracle/fibers.hpp"
#include "support/memory_store.hpp"

namespace oratorio::oracle {

/// State that the stores of one file share.
struct Storage {
    struct Held {
        const void* owner;
        int fiber_rank;
        Extent range;
    };
    test::MemoryDisk disk;
    std::uint64_t locks_changed = 0;
    std::vector<Held> held;  ///< the locks, kept only to explain deadlocks
};

/// A fault of a rank's storage: its nth request (from 1) fails with this errno; 0: none does.
struct Fault {
    int nth = 0;
    int system_errno = 0;
    bool writes = true;
    bool reads = true;
};

class SimulatedStore final : public Store {
  public:
    SimulatedStore(Fibers& fibers, Storage& storage, int rank, Fault& fault,
                   const test::MemoryStoreOptions& options);
    ~SimulatedStore() override;

    [[nodiscard]] const StoreFacts& facts() const override { return facts_; }
    Submitted submit(const IoRequest& request) override;
    std::size_t reap(std::span<IoCompletion> out, bool wait) override;
    void finish_jobs() override;
    Result<Bytes> size() override;
    Result<void> resize(Bytes bytes, bool allocate) override;
    Result<void> sync() override;
    Result<void> lock(Extent range, bool lock, bool exclusive) override;
    Result<bool> is_locked_elsewhere(Extent range) override {
        return store_.is_locked_elsewhere(range);
    }
    Result<Mapped> map(Extent range, Direction direction, Populate populate) override;
    Result<void> close() override;

  private:
    void perform_next_job();
    void wait_for_unlock();
    void drop_locks();

    Fibers& fibers_;
    Storage& storage_;
    int rank_;
    Fault& fault_;  ///< counts the rank's requests down, over all its stores
    Extent wanted_;
    test::MemoryStore store_;
    StoreFacts facts_;
    std::vector<IoCompletion> ended_;  ///< completions of failed requests and of jobs
    std::deque<IoRequest> jobs_;       ///< jobs in the order in which they are performed
    bool in_job_ = false;
    bool was_late_ = false;  ///< the last reap left a job for the next one
};

}  // namespace oratorio::oracle
