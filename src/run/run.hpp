// Run: one access being done, as a resumable state machine over a plan. Blocking calls step it
// until done; nonblocking ones keep it. Collective runs must be made on all ranks in the same
// order. Stepped by one thread at a time.
#pragma once

#include <climits>
#include <memory>
#include <optional>

#include "run/run_context.hpp"

namespace oratorio {

/// What a data access did: `bytes` were truly moved, also when `error` is set.
struct Outcome {
    Bytes bytes = 0;
    Error error;
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
