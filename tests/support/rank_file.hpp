// SPDX-License-Identifier: BSD-3-Clause
// RankFile: a file as the engine sees it on one simulated rank, with all that its accesses share.
#pragma once

#include <memory>

#include "data_shipping/inline_agents.hpp"
#include "engine/late_agreement.hpp"
#include "engine/run.hpp"
#include "support/flat_terms.hpp"

namespace oratorio::test {

struct RankFileOptions {
    /// True if the ranks of a node share memory; otherwise, methods that need shared memory don't
    /// apply.
    bool shares_memory = false;
    PlanObserver* observer = nullptr;  ///< sees all plans; may be null
};

struct RankFile {
    /// Inline agents serve the file if `terms` has any. REQUIRES: the transport, the store, the
    /// stats and the observer outlive the file.
    RankFile(Transport& transport, Store& store, const FlatTerms& terms, Stats& stats,
             const RankFileOptions& options = {})
        : config(terms_of(terms)),
          node(options.shares_memory ? NodeMemory()
                                     : NodeMemory(Error::make(ErrorKind::unsupported_operation,
                                                              "memory isn't shared"))),
          observer(options.observer != nullptr ? *options.observer : ignoring),
          agents(agents_for(store, terms.agents)),
          shared{.transport = transport,
                 .store = store,
                 .stats = stats,
                 .buffers = buffers,
                 .node = node,
                 .plans = plans,
                 .tuning = tuning,
                 .io_thread = io_thread,
                 .lock_policy = lock_policy,
                 .undelivered = undelivered,
                 .late = late,
                 .agents = agents.get()} {
        lock_policy.io_thread = &io_thread;
    }
    /// Collective, as closing a file is: ends the reads in which ranks did not wait for each other.
    ~RankFile() noexcept(false) {
        while (late.step(shared) != Step::done) shared.transport.idle();
    }
    RankFile(const RankFile&) = delete;
    RankFile& operator=(const RankFile&) = delete;

    /// Returns the inputs of the next run. Runs are numbered from 0.
    [[nodiscard]] RunContext next_run() { return {shared, config, observer, begun++}; }
    /// Accesses the file, and returns when that is done.
    Outcome access(const Access& access, bool collective = true) {
        return run_access(next_run(), access, collective);
    }

    std::shared_ptr<const Agreed<PlanConfig>> config;
    BufferPool buffers;
    NodeMemory node;
    PlanCache plans;
    LearnedTimes learned;
    Tuning tuning{learned};
    IoThread io_thread;
    LockPolicy lock_policy;
    UndeliveredErrors undelivered;
    LateAgreement late;
    PlanObserver ignoring;
    PlanObserver& observer;
    std::unique_ptr<InlineAgents> agents;  ///< null: no agents
    FileContext shared;
    unsigned begun = 0;  ///< number of runs so far

  private:
    static std::unique_ptr<InlineAgents> agents_for(Store& store, const AgentFacts& facts) {
        if (facts.ranks.empty()) return nullptr;
        const Binding binding{facts.block, static_cast<int>(facts.ranks.size())};
        return std::make_unique<InlineAgents>(store, binding, facts.message);
    }
};

}  // namespace oratorio::test
