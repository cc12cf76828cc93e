// SPDX-License-Identifier: BSD-3-Clause
// FileTrace: the trace of an open file, if the user wants one (ORATORIO_TRACE). Until start() is
// called, nothing is recorded. Private to src/file.
#pragma once

#include <memory>
#include <string>

#include "file/tracing.hpp"

namespace oratorio {

class FileTrace {
  public:
    /// `stats` has the counters of the file, and outlives the trace.
    explicit FileTrace(Stats& stats) : stats_(stats) {}

    /// Starts to record this rank's accesses and calls. Called at open, if all ranks want a trace.
    void start(const TraceCall& call, int ranks);
    [[nodiscard]] bool started() const { return tracing_ != nullptr; }

    /// Returns the record of a call that begins now. `started`: the program continues during the
    /// access.
    [[nodiscard]] TracedAccess begin(const AccessCall& call, bool started) {
        return tracing_ == nullptr ? TracedAccess() : record(call, started);
    }
    /// Records the place and the memory of an access.
    void describe(const TracedAccess& traced, const Access& access) {
        if (tracing_ != nullptr) tracing_->describe(traced, access);
    }
    /// Records the plan of the access that is being worked on.
    void planned(const Plan& plan) {
        if (tracing_ != nullptr) tracing_->planned(plan);
    }

    /// Records a call that began at `begin` and ends now.
    void add_call(Routine routine, Nanoseconds begin) {
        if (tracing_ != nullptr) tracing_->add_call(routine, begin);
    }

    /// Collective. Writes the accesses and calls of all ranks as a section of the trace file.
    /// Returns errors of the transport only; a failure to write the file is reported to the user.
    /// REQUIRES: started() on all ranks, and no access is under way.
    Result<void> write(Transport& ranks, const std::string& path, const std::string& location,
                       const HintMap& hints);

  private:
    [[nodiscard]] TracedAccess record(const AccessCall& call, bool started);

    Stats& stats_;
    bool timed_without_ = false;  ///< the counters are timed even without the trace
    std::unique_ptr<Tracing> tracing_;
};

/// Records a call of a routine that lasts from this object's construction to its destruction, if
/// there is a trace.
class TracedCall {
  public:
    TracedCall(FileTrace& trace, Routine routine)
        : trace_(trace.started() ? &trace : nullptr), routine_(routine) {
        if (trace_ != nullptr) begin_ = Recorder::now();
    }
    ~TracedCall() {
        if (trace_ != nullptr) trace_->add_call(routine_, begin_);
    }
    TracedCall(const TracedCall&) = delete;
    TracedCall& operator=(const TracedCall&) = delete;

  private:
    FileTrace* trace_;
    Routine routine_;
    Nanoseconds begin_ = 0;
};

}  // namespace oratorio
