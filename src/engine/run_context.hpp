// SPDX-License-Identifier: BSD-3-Clause
// The inputs of runs: FileContext holds what all accesses of an open file share, RunContext adds
// what belongs to one run, and WorkContext is what one attempt of a run's work sees.
#pragma once

#include <memory>
#include <string>

#include "data_shipping/agents.hpp"
#include "engine/lock_policy.hpp"
#include "engine/plan_cache.hpp"
#include "engine/tuning.hpp"
#include "exchange/node_shared/node_memory.hpp"
#include "memory/buffer_pool.hpp"
#include "stats/recorder.hpp"
#include "store/store.hpp"
#include "store/threaded.hpp"
#include "type/coverage.hpp"

namespace oratorio {

/// Observes runs, for messages to the user and for the trace. The functions of this base class do
/// nothing.
class PlanObserver {
  public:
    virtual ~PlanObserver() = default;
    /// Called with each plan that is made for an access, and with a plan kept from an earlier
    /// access if this rank's access matches it.
    virtual void planned(const Plan&) {}
    /// Called if the last plan was dropped, because some rank's access didn't match it: the ranks
    /// make another plan and repeat the access.
    virtual void dropped() {}
    virtual void remark(const std::string&) {}
};

/// Failures of sparse writes (engine/completion.hpp) since the last sync. This rank knows of these
/// failures, and other ranks may not.
struct UndeliveredErrors {
    Error first;
    /// Sum of hashes of the failed writes' numbers: equal on ranks that know of the same failures.
    std::uint64_t writes = 0;

    void add(const Error& error, unsigned number) {
        if (first.kind == ErrorKind::none) first = error;
        writes += mix(number);
    }
};

class LateAgreement;

/// What all accesses of an open file share. Everything referenced outlives the file's runs.
struct FileContext {
    Transport& transport;
    Store& store;
    Stats& stats;
    BufferPool& buffers;  ///< reused from access to access, so that their pages stay in memory
    NodeMemory& node;
    PlanCache& plans;
    Tuning& tuning;
    IoThread& io_thread;
    LockPolicy& lock_policy;
    UndeliveredErrors& undelivered;
    LateAgreement& late;       ///< agreement of the last read in which no rank waited for another
    Agents* agents = nullptr;  ///< null: the file has no agents, so data shipping doesn't apply
};

/// The inputs of one run.
struct RunContext {
    const FileContext& file;
    std::shared_ptr<const Agreed<PlanConfig>> config;
    PlanObserver& observer;  ///< outlives the run
    /// Number of a collective run, equal on all ranks. It separates the messages of successive
    /// runs, so two runs on the same ranks must not have the same number. Independent runs need
    /// no number.
    unsigned number = 0;
};

/// The inputs of the work of one attempt of a run.
struct WorkContext {
    const FileContext& file;
    Store& store;  ///< the file's store, or one that passes requests to the file's I/O thread
    const PlanConfig& config;
    unsigned number = 0;      ///< number of this attempt, equal on all ranks
    bool all_entered = true;  ///< all ranks are known to have entered the access
};

}  // namespace oratorio
