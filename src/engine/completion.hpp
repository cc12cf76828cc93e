// SPDX-License-Identifier: BSD-3-Clause
// AccessCompletion: how a rank learns the outcome of a collective access on the other ranks. The
// plan decides: either all ranks agree, or, if the user requested a sparse graph, the aggregators
// that share an edge with a rank report to it, and it waits for no other rank (MPI-IO/GPFS, 2001,
// section 2.4.1). docs/internals/decisions/messages.md.
#pragma once

#include <memory>

#include "comm/agreed.hpp"
#include "engine/run_context.hpp"
#include "engine/stored_reports.hpp"

namespace oratorio {

/// The end of one attempt of an access, collective, made in steps. It is created before the work
/// begins, so that no aggregator that reports to this rank has to wait for it. Must not move: the
/// transport holds its address.
class AccessCompletion {
  public:
    virtual ~AccessCompletion() = default;
    AccessCompletion() = default;
    AccessCompletion(const AccessCompletion&) = delete;
    AccessCompletion& operator=(const AccessCompletion&) = delete;

    /// Called once when this rank's work is over, with its own failure and how far its storage got.
    virtual void begin(const Error& mine, Remark remark, const StoredReport& stored) = 0;
    /// Makes progress; returns Step::done when the end is complete. An error comes from the
    /// transport.
    virtual Result<Step> step() = 0;
    /// Returns the current trace activity.
    [[nodiscard]] virtual Activity activity() const = 0;

    // Valid once step() has returned true:

    /// Returns the worst error that this rank knows of, its own included; the lowest rank's among
    /// equals.
    [[nodiscard]] virtual const Error& error() const = 0;
    /// Return the flags that all ranks agreed on; false if aggregators report.
    [[nodiscard]] virtual bool vetoed() const { return false; }
    [[nodiscard]] virtual bool goes_on() const { return false; }
    /// Returns the bytes of `access` that are stored; `mine` is this rank's hull.
    /// REQUIRES: a write through aggregators failed.
    [[nodiscard]] virtual Bytes stored_bytes(const Access& access, Extent mine) const = 0;
};

/// Makes the ending that the plan names; the plan outlives it. `number`: of the attempt, equal on
/// all ranks.
std::unique_ptr<AccessCompletion> make_access_completion(const RunContext& context,
                                                         const Plan& plan, unsigned number);

}  // namespace oratorio
