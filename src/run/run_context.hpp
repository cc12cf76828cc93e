// SPDX-License-Identifier: BSD-3-Clause
// RunContext: what one access works with. Parts of a run get this, and nothing of the run itself.
#pragma once

#include <memory>
#include <string>

#include "agent/agents.hpp"
#include "base/buffer_pool.hpp"
#include "exchange/node_memory.hpp"
#include "run/exclusion.hpp"
#include "run/plan_cache.hpp"
#include "stats/recorder.hpp"
#include "store/store.hpp"
#include "store/threaded.hpp"
#include "type/coverage.hpp"

namespace oratorio {

/// Is told what a user may want to know of a run.
class Witness {
  public:
    virtual ~Witness() = default;
    /// Of the plan of each access, made for it or kept.
    virtual void planned(const Plan& plan) = 0;
    virtual void remark(const std::string& sentence) = 0;
};

/// What one rank has heard of writes that failed and of whose failure others may not know (sparse
/// ones: run/ending.hpp), since all ranks were last told.
struct Unheard {
    Error first;
    std::uint64_t writes = 0;  ///< equal on ranks that have heard of the same ones

    void add(const Error& error, unsigned number) {
        if (first.kind == ErrorKind::none) first = error;
        writes += mix(number);
    }
};

/// What a run works with; everything outlives the run.
struct RunContext {
    Transport& transport;
    Store* store =
        nullptr;  ///< null: this rank has no open file (the access is refused, others go on)
    std::shared_ptr<const Agreed<Terms>> terms;
    Stats& stats;
    BufferPool& buffers;  ///< the file's, so that buffers stay warm from access to access
    unsigned sequence =
        0;  ///< number of this collective on the file, equal on all ranks: keeps messages apart
    unsigned* begun = nullptr;      ///< the file's: collective runs so far, of which each takes the
                                    ///< next number; null: `sequence` is it
    Witness* witness = nullptr;     ///< may be null
    NodeMemory* node = nullptr;     ///< the file's; null: methods that share memory don't apply
    PlanCache* plans = nullptr;     ///< the file's; null: every access is planned anew
    IoThread* io_thread = nullptr;  ///< the file's; null: the caller does the storage calls
    Exclusion* exclusion = nullptr;  ///< the file's; null: nobody else writes it
    Unheard* unheard = nullptr;      ///< the file's; null: nobody asks
    bool gathered = true;            ///< all ranks are known to have entered this access
    Agents* agents = nullptr;        ///< the file's; null: methods that ship don't apply
    TracedAccess traced = {};        ///< nobody's where nothing is recorded

    [[nodiscard]] Exclusion excluded() const {
        return exclusion != nullptr ? *exclusion : Exclusion{};
    }
};

}  // namespace oratorio
