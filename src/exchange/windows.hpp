// SPDX-License-Identifier: BSD-3-Clause
// Windows: how the ranks of a group share their data with their local aggregator in memory of the
// node, without messages. The regions of the group are cut into windows; each rank copies its own
// data of a window to or from it. A window is as long as a message's payload may be: where the
// group's share of it is dense it is what is sent.
#pragma once

#include "exchange/node_rounds.hpp"
#include "exchange/runs.hpp"

namespace oratorio {

/// The windows of a group, in the order in which its local aggregator takes them. All its ranks see
/// the same, with the same numbers.
class Windows {
  public:
    Windows(const Plan& plan, Rank local_aggregator);

    [[nodiscard]] bool at_end() const { return regions_.at_end(); }
    /// Counted from 0.
    [[nodiscard]] std::int64_t number() const { return number_; }
    /// The region that it is part of.
    [[nodiscard]] const Region& region() const { return region_; }
    /// A region of one extent.
    [[nodiscard]] const Region& window() const { return window_; }
    /// What of it is within the group's hull.
    [[nodiscard]] Extent extent() const { return intersect(window_.extent(0), hull_); }
    void advance();

  private:
    void enter_region();
    bool next_in_region();

    const Plan& plan_;
    Extent hull_;
    RankRegions regions_;
    Region region_;
    Region window_;
    std::int64_t extent_ = 0;  ///< of the region
    Offset from_ = 0;          ///< where the next window in it begins
    std::int64_t number_ = 0;
};

/// Where the windows of a local aggregator lie in the node's memory.
class WindowPlaces {
  public:
    WindowPlaces(const Plan& plan, const Topology& topology, const NodeMemory& node,
                 Rank local_aggregator);

    [[nodiscard]] SlotControl& control(std::int64_t number) const;
    /// Its bytes; the layers' window_room lies before them.
    [[nodiscard]] std::span<std::byte> data(std::int64_t number) const;
    /// Writes: which of them were given.
    [[nodiscard]] std::span<std::byte> given(std::int64_t number) const;

  private:
    const Plan& plan_;
    const NodeMemory& node_;
    int place_ = 0;  ///< of the local aggregator among its node's ranks
    std::span<std::byte> memory_;
};

/// A rank's side that isn't the local aggregator.
class WindowMember {
  public:
    WindowMember(const ExchangeContext& context, Runs& own);

    /// Copies its data of all windows that are open for it; true when there was one.
    bool step();
    [[nodiscard]] bool finished() const { return windows_.at_end(); }
    [[nodiscard]] Bytes received() const { return received_; }
    /// The local aggregator works by another plan.
    [[nodiscard]] bool differs() const { return differs_; }

  private:
    void skip_untouched();

    const ExchangeContext context_;
    Runs& own_;
    Extent hull_;
    Windows windows_;
    WindowPlaces places_;
    Bytes received_ = 0;
    bool differs_ = false;
};

}  // namespace oratorio
