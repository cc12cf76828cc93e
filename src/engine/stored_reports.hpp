// SPDX-License-Identifier: BSD-3-Clause
// Stored reports: how far each aggregator got before a failure, and how many bytes of a rank are
// stored according to these reports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/transport.hpp"
#include "plan/plan.hpp"

namespace oratorio {

/// How far an aggregator's storage got with the data that it received. The struct is sent as bytes.
/// Storing begins in the order of rounds and nothing begins after a failure, so each round is
/// either stored, short or never begun.
struct StoredReport {
    struct Short {
        std::int64_t round = 0;
        Offset stored_until = 0;  ///< bytes of the region before this offset are stored
    };
    static constexpr int shorts_max = kSlotsMost;
    std::int64_t first_not_begun = INT64_MAX;
    std::int64_t shorts = 0;
    Short short_rounds[shorts_max];
};

/// Returns how many bytes of `access` were stored; `mine` is the hull of the access's rank, and
/// `reports` has one entry per aggregator.
[[nodiscard]] Bytes stored_bytes(const Plan& plan, const Access& access, Extent mine,
                                 std::span<const StoredReport> reports);

/// Gathers the reports of all ranks; collective, in steps.
class StoredReports {
  public:
    StoredReports() = default;
    explicit StoredReports(const StoredReport& mine) : gathering_(mine) {}
    /// Returns Step::done when all reports are gathered; an error comes from the transport. The
    /// object must not move until then.
    Result<Step> step(Transport& transport) { return gathering_.step(transport); }
    /// Returns how many bytes of `access` were stored, according to the gathered reports. REQUIRES:
    /// step() has returned Step::done.
    [[nodiscard]] Bytes stored_bytes(const Plan& plan, const Access& access, Extent mine) const;

  private:
    Gathering<StoredReport> gathering_;
};

}  // namespace oratorio
