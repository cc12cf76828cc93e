// SPDX-License-Identifier: BSD-3-Clause
// RoundOrder: in which order the parts of the file domains are handled. A value, the same on all
// ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/place.hpp"

namespace oratorio {

struct Plan;

class RoundOrder {
  public:
    /// From the front of each domain to its end.
    RoundOrder() = default;
    /// `parts`: for each aggregator which part comes in its first round, its second, ...; each part
    /// once.
    RoundOrder(std::vector<std::int32_t> parts, std::int64_t rounds)
        : parts_(std::make_shared<const std::vector<std::int32_t>>(std::move(parts))),
          rounds_(rounds) {}

    [[nodiscard]] bool ascending() const { return parts_ == nullptr; }
    /// Which part of its domain, counted from the front, an aggregator handles in `round`.
    [[nodiscard]] std::int64_t part(int aggregator, std::int64_t round) const {
        return ascending() ? round
                           : (*parts_)[static_cast<std::size_t>(aggregator * rounds_ + round)];
    }
    /// As it was made of; none where it is ascending.
    [[nodiscard]] std::span<const std::int32_t> parts() const {
        return ascending() ? std::span<const std::int32_t>() : *parts_;
    }

  private:
    std::shared_ptr<const std::vector<std::int32_t>> parts_;  ///< null: ascending
    std::int64_t rounds_ = 0;
};

/// The order of a plan that has all but that. `places`: what is known of where the hull's bytes lie
/// on the device, in the order of the file. Pure.
using OrderMaker = RoundOrder (*)(const Plan& plan, std::span<const Place> places);

/// Each aggregator by place on the device; what has none that is known comes last, as in the file
/// (disk-directed I/O: Kotz 1994, in Nitzberg & Fineberg 1995). Ascending where no place is known.
[[nodiscard]] RoundOrder by_place(const Plan& plan, std::span<const Place> places);

/// Rounds of all aggregators together up to which they are ordered by place: what one rank tells
/// the others stays small.
inline constexpr std::int64_t kOrderedRoundsMost = 1 << 16;

}  // namespace oratorio
