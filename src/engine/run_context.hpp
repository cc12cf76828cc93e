// SPDX-License-Identifier: BSD-3-Clause
// RunContext: the inputs of one access. Components of a run see this and nothing else of the run.
#pragma once

#include <memory>
#include <string>

#include "data_shipping/agents.hpp"
#include "engine/lock_policy.hpp"
#include "engine/plan_cache.hpp"
#include "exchange/node_shared/node_memory.hpp"
#include "memory/buffer_pool.hpp"
#include "stats/recorder.hpp"
#include "store/store.hpp"
#include "store/threaded.hpp"
#include "type/coverage.hpp"

namespace oratorio {

/// Observes runs, for messages to the user.
class PlanObserver {
  public:
    virtual ~PlanObserver() = default;
    /// Called with the plan of each access, whether it was made for the access or kept from
    /// another.
    virtual void planned(const Plan& plan) = 0;
    virtual void remark(const std::string& sentence) = 0;
};

/// Failed sparse writes (engine/completion.hpp) that this rank knows of and other ranks may not,
/// since the last operation in which all ranks agreed.
struct UndeliveredErrors {
    Error first;
    /// Sum of hashes of the failed writes' numbers: equal on ranks that know of the same ones.
    std::uint64_t writes = 0;

    void add(const Error& error, unsigned number) {
        if (first.kind == ErrorKind::none) first = error;
        writes += mix(number);
    }
};

/// The inputs of a run; everything referenced outlives it. "The file's" marks what all accesses of
/// one file share.
struct RunContext {
    Transport& transport;
    /// Null: the file isn't open on this rank. This rank then refuses the access, and the other
    /// ranks continue.
    Store* store = nullptr;
    std::shared_ptr<const Agreed<PlanConfig>> config;
    Stats& stats;
    BufferPool& buffers;  ///< the file's, so that buffers stay warm from access to access
    /// Number of this collective access on the file, equal on all ranks. It separates the messages
    /// of successive accesses.
    unsigned sequence = 0;
    /// The file's count of collective runs, each of which takes the next number. Null: `sequence`
    /// is the number.
    unsigned* begun = nullptr;
    PlanObserver* observer = nullptr;   ///< may be null
    NodeMemory* node = nullptr;         ///< the file's; null: methods that share memory don't apply
    PlanCache* plans = nullptr;         ///< the file's; null: every access is planned
    IoThread* io_thread = nullptr;      ///< the file's; null: the caller makes the storage calls
    LockPolicy* lock_policy = nullptr;  ///< the file's; null: this handle is the only writer
    UndeliveredErrors* undelivered = nullptr;  ///< the file's; null: failures aren't collected
    bool gathered = true;                      ///< all ranks are known to have entered this access
    Agents* agents = nullptr;                  ///< the file's; null: data shipping doesn't apply
    TracedAccess traced = {};                  ///< this access in the trace, if a trace is recorded

    [[nodiscard]] LockPolicy locking() const {
        return lock_policy != nullptr ? *lock_policy : LockPolicy{};
    }
};

}  // namespace oratorio
