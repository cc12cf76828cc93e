// SPDX-License-Identifier: BSD-3-Clause
// Stored reports: after a failure, what the aggregators say of how far they got, and how many bytes
// of a rank are stored by that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/transport.hpp"
#include "plan/plan.hpp"

namespace oratorio {

/// How far an aggregator's storage got, for the ranks whose data it had in hand. Travels as bytes.
/// Storing begins in the order of rounds and nothing is begun after a failure, so the rounds fall
/// into stored, short and never begun.
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

/// Bytes of `access`, a rank's whose hull is `mine`, that were stored, by the aggregators' reports
/// (one per aggregator).
[[nodiscard]] Bytes stored_bytes(const Plan& plan, const Access& access, Extent mine,
                                 std::span<const StoredReport> reports);

/// Collective, in steps: the reports of all ranks.
class StoredReports {
  public:
    StoredReports() = default;
    explicit StoredReports(const StoredReport& mine) : gathering_(mine) {}
    /// True when all are there; an error is the transport's. Stays where it is until then.
    Result<bool> step(Transport& transport) { return gathering_.step(transport); }
    /// As the function, when they are.
    [[nodiscard]] Bytes stored_bytes(const Plan& plan, const Access& access, Extent mine) const;

  private:
    Gathering<StoredReport> gathering_;
};

}  // namespace oratorio
