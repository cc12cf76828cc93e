// SPDX-License-Identifier: BSD-3-Clause
// Windows: how the ranks of a group share their data with their local aggregator through node
// memory, without messages. The group's regions are cut into windows; each rank copies its own data
// to or from a window. A window is as long as a message's payload may be, so a window that the
// group's data fills densely is sent as it is.
#pragma once

#include <limits>

#include "exchange/data_port.hpp"
#include "exchange/node_shared/node_rounds.hpp"

namespace oratorio {

/// The windows of a group, in the order in which its local aggregator takes them. All ranks of the
/// group see the same windows with the same numbers.
class Windows {
  public:
    Windows(const Plan& plan, Rank local_aggregator);

    [[nodiscard]] bool at_end() const { return regions_.at_end(); }
    /// Returns the window's number, counted from 0.
    [[nodiscard]] std::int64_t number() const { return number_; }
    /// Returns the region that contains the window.
    [[nodiscard]] const Region& region() const { return region_; }
    /// Returns the window as a region of one extent.
    [[nodiscard]] const Region& window() const { return window_; }
    /// Returns the part of the window in the group's hull.
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
    std::int64_t extent_ = 0;  ///< index of the current extent of the region
    /// Value of from_ at the start of an extent. It isn't 0, because offsets may be negative if a
    /// kept plan was moved back in the file.
    static constexpr Offset kAtBegin = std::numeric_limits<Offset>::min();
    Offset from_ = kAtBegin;  ///< where the extent's next window begins
    std::int64_t number_ = 0;
};

/// Where the windows of a local aggregator lie in the node's memory.
class WindowPlaces {
  public:
    WindowPlaces(const Plan& plan, const Topology& topology, const NodeMemory& node,
                 Rank local_aggregator);

    [[nodiscard]] SlotControl& control(std::int64_t number) const;
    /// Returns the window's bytes. Layers::window_room bytes of room precede them.
    [[nodiscard]] std::span<std::byte> data(std::int64_t number) const;
    /// Returns the window's write mask; empty in reads.
    [[nodiscard]] std::span<std::byte> mask(std::int64_t number) const;

  private:
    const Plan& plan_;
    const NodeMemory& node_;
    int place_ = 0;  ///< the local aggregator's index on its node
    std::span<std::byte> memory_;
};

/// Copies the data of a rank that isn't the local aggregator to or from the windows of its group.
class WindowMember {
  public:
    WindowMember(const ExchangeContext& context, DataPort& own);

    /// Copies this rank's data of all windows that are open to it; returns true if a window was
    /// open.
    bool step();
    [[nodiscard]] bool finished() const { return windows_.at_end(); }
    [[nodiscard]] Bytes received() const { return received_; }
    /// Returns true if the local aggregator follows a different plan.
    [[nodiscard]] bool differs() const { return differs_; }

  private:
    void skip_untouched();

    const ExchangeContext context_;
    DataPort& own_;
    Extent hull_;
    Windows windows_;
    WindowPlaces places_;
    Bytes received_ = 0;
    bool differs_ = false;
};

}  // namespace oratorio
