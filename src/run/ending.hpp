// SPDX-License-Identifier: BSD-3-Clause
// Ending: how a rank learns how a collective access has ended on the others. By the plan: all ranks
// agree, or in a graph that was asked to be sparse each is told by the aggregators that it shares
// an edge with, and waits for nobody else (MPI-IO/GPFS, 2001, section 2.4.1).
// docs/decisions/0038-sparse-ends.md.
#pragma once

#include <memory>

#include "base/agreed.hpp"
#include "run/run_context.hpp"
#include "run/stored_reports.hpp"

namespace oratorio {

/// Collective, made in steps; one for each attempt of an access. Made before the work begins, so
/// that whoever tells this rank something isn't kept waiting by it. Stays where it is: the
/// transport knows its address.
class Ending {
  public:
    virtual ~Ending() = default;
    Ending() = default;
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

    /// This rank's work is over, with its own failure and how far its storage got; once.
    virtual void begin(const Error& mine, Remark remark, const StoredReport& stored) = 0;
    /// True when it is over; an error is the transport's.
    virtual Result<bool> step() = 0;
    /// What it is at in a trace.
    [[nodiscard]] virtual Activity activity() const = 0;

    // When it is over:

    /// The worst that this rank has heard of, its own with it; among equals the lowest rank's.
    [[nodiscard]] virtual const Error& error() const = 0;
    /// As the agreement has it; never where ranks are told.
    [[nodiscard]] virtual bool vetoed() const { return false; }
    [[nodiscard]] virtual bool goes_on() const { return false; }
    /// After a failure of a write through aggregators: bytes of `access`, this rank's whose hull is
    /// `mine`, that are stored.
    [[nodiscard]] virtual Bytes stored_bytes(const Access& access, Extent mine) const = 0;
};

/// The one that the plan names, which outlives it. `number`: of the attempt, equal on all ranks.
std::unique_ptr<Ending> make_ending(const RunContext& context, const Plan& plan, unsigned number);

}  // namespace oratorio
