// SPDX-License-Identifier: BSD-3-Clause
// RoundOrder: the order in which the parts of the file domains are handled. It is a value, the same
// on all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/disk_extent.hpp"

namespace oratorio {

struct Plan;

class RoundOrder {
  public:
    /// Makes the order from the front of each domain to its end.
    RoundOrder() = default;
    /// Makes an order from `parts`, which lists for each aggregator in turn the parts that it
    /// handles in its `rounds` rounds, each part once.
    RoundOrder(std::vector<std::int32_t> parts, std::int64_t rounds)
        : parts_(std::make_shared<const std::vector<std::int32_t>>(std::move(parts))),
          rounds_(rounds) {}

    [[nodiscard]] bool ascending() const { return parts_ == nullptr; }
    /// Returns the part of its domain, counted from the front, that an aggregator handles in
    /// `round`.
    [[nodiscard]] std::int64_t part(int aggregator, std::int64_t round) const {
        return ascending() ? round
                           : (*parts_)[static_cast<std::size_t>(aggregator * rounds_ + round)];
    }
    /// Returns the list that the order was made from; empty if it is ascending.
    [[nodiscard]] std::span<const std::int32_t> parts() const {
        return ascending() ? std::span<const std::int32_t>() : *parts_;
    }

  private:
    std::shared_ptr<const std::vector<std::int32_t>> parts_;  ///< null: ascending
    std::int64_t rounds_ = 0;
};

/// Makes the order for a plan that is complete except for its order. `places` has the known places
/// of the hull's bytes on the device, in file order. Pure.
using OrderMaker = RoundOrder (*)(const Plan& plan, std::span<const DiskExtent> places);

/// Orders the rounds of each aggregator by location on the device. Parts without a known place come
/// last, in file order (disk-directed I/O: Kotz 1994, in Nitzberg & Fineberg 1995). The order is
/// ascending if no place is known.
[[nodiscard]] RoundOrder by_place(const Plan& plan, std::span<const DiskExtent> places);

/// Maximum number of rounds, of all aggregators together, that are ordered by place. The limit
/// bounds the message in which one rank sends the order to the others.
inline constexpr std::int64_t kOrderedRoundsMost = 1 << 16;

}  // namespace oratorio
