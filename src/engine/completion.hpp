// SPDX-License-Identifier: BSD-3-Clause
// AccessCompletion: how a rank learns the outcome of a collective access on the other ranks. The
// plan decides: either all ranks agree, or, if the user requested a sparse graph, the aggregators
// that share an edge with a rank report to it, and it waits for no other rank (MPI-IO/GPFS, 2001,
// section 2.4.1). A read that ends late uses engine/late_agreement instead.
// See docs/internals/decisions/messages.md.
#pragma once

#include <memory>
#include <optional>

#include "comm/agreed.hpp"
#include "engine/run_context.hpp"
#include "engine/stored_reports.hpp"

namespace oratorio {

/// Completes one attempt of a collective access, in steps. It is created before the work begins, so
/// that no aggregator has to wait for this rank before it reports. It must not move, because the
/// transport holds addresses of its members.
class AccessCompletion {
  public:
    virtual ~AccessCompletion() = default;
    AccessCompletion() = default;
    AccessCompletion(const AccessCompletion&) = delete;
    AccessCompletion& operator=(const AccessCompletion&) = delete;

    /// Called once when this rank's work is done, with its own failure, its storage report and, if
    /// the access is measured, its times.
    virtual void begin(const Error& mine, Remark remark, const StoredReport& stored,
                       const std::optional<AccessTimes>& times) = 0;
    /// Makes progress; returns Step::done when the outcome is known. An error comes from the
    /// transport. REQUIRES: begin() was called.
    virtual Result<Step> step() = 0;
    /// Returns the current trace activity.
    [[nodiscard]] virtual Activity activity() const = 0;

    // The functions below are valid once step() has returned Step::done.

    /// Returns the worst error that this rank knows of, its own included. Among equally bad errors,
    /// returns that of the lowest rank.
    [[nodiscard]] virtual const Error& error() const = 0;
    /// vetoed() returns true if some rank vetoed the attempt, goes_on() if some rank has more data.
    /// Equal on all ranks; always false if aggregators report.
    [[nodiscard]] virtual bool vetoed() const { return false; }
    [[nodiscard]] virtual bool goes_on() const { return false; }
    /// Returns the nanoseconds that the access took. Equal on all ranks; 0 if it isn't measured.
    [[nodiscard]] virtual std::uint64_t nanoseconds() const { return 0; }
    /// Returns how many bytes of `access` are stored; `mine` is this rank's hull.
    /// REQUIRES: a write through aggregators failed.
    [[nodiscard]] virtual Bytes stored_bytes(const Access& access, Extent mine) const = 0;
};

/// Makes the completion that the plan names. `number` is the attempt's number, equal on all ranks.
/// REQUIRES: the plan outlives the completion.
std::unique_ptr<AccessCompletion> make_access_completion(const RunContext& context,
                                                         const Plan& plan, unsigned number);

}  // namespace oratorio
