// Run: one access being done, as a resumable state machine over a plan. Blocking calls step it
// until done; nonblocking ones will keep it. Collective runs must be made on all ranks in the same
// order. Stepped by one thread at a time.
#pragma once

#include <climits>
#include <functional>
#include <memory>
#include <optional>

#include "base/buffer_pool.hpp"
#include "exchange/node_memory.hpp"
#include "run/exclusion.hpp"
#include "run/plan_cache.hpp"
#include "stats/stats.hpp"
#include "store/store.hpp"
#include "store/threaded.hpp"

namespace oratorio {

/// What a data access did: `bytes` were truly moved, also when `error` is set.
struct Outcome {
    Bytes bytes = 0;
    Error error;
};

/// What a run works with; everything outlives the run.
struct RunContext {
    Transport& transport;
    Store* store =
        nullptr;  ///< null: this rank has no open file (the access is refused, others go on)
    const PlanOptions& options;  ///< equal on all ranks
    Stats& stats;
    BufferPool& buffers;  ///< the file's, so that buffers stay warm from access to access
    unsigned sequence =
        0;  ///< number of this collective on the file, equal on all ranks: keeps messages apart
    std::function<void(const Plan&)> on_plan = {};  ///< may be empty; told every plan made
    NodeMemory* node = nullptr;     ///< the file's; null: methods that share memory don't apply
    PlanCache* plans = nullptr;     ///< the file's; null: every access is planned anew
    IoThread* io_thread = nullptr;  ///< the file's; null: the caller does the storage calls
    std::function<void(const std::string&)> on_remark =
        {};                          ///< may be empty; what a user should know
    Exclusion* exclusion = nullptr;  ///< the file's; null: nobody else writes it
    bool gathered = true;            ///< all ranks are known to have entered this access

    [[nodiscard]] Exclusion excluded() const {
        return exclusion != nullptr ? *exclusion : Exclusion{};
    }
};

class Run {
  public:
    Run(const RunContext& context, const Access& access, bool collective);
    ~Run();
    /// Moves on as far as it can without waiting, at most so many moves of its work; true when
    /// done.
    bool step(int moves = INT_MAX);
    /// For whoever has nothing else to do after a step that didn't end it: waits until another step
    /// may get further, but not for long.
    void rest();
    /// What rest() would wait for; nothing while more moves can be made at once.
    [[nodiscard]] std::optional<Rest> waits_for() const;
    /// Its plan needs messages of the host MPI between rounds.
    [[nodiscard]] bool sends_messages() const;
    /// Valid when done. Collective: the error kind is the same on all ranks; bytes are this rank's.
    [[nodiscard]] const Outcome& outcome() const;

  private:
    class State;
    std::unique_ptr<State> state_;
};

/// Steps until done.
Outcome run_access(const RunContext& context, const Access& access, bool collective);

}  // namespace oratorio
