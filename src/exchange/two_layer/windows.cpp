// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/two_layer/windows.hpp"

#include <algorithm>

namespace oratorio {

Windows::Windows(const Plan& plan, Rank local_aggregator)
    : plan_(plan),
      hull_(plan.graph.hull_of(local_aggregator)),
      regions_(plan.regions_of(local_aggregator)) {
    enter_region();
}

void Windows::enter_region() {
    if (regions_.at_end()) return;
    region_ = regions_.region();
    extent_ = 0;
    from_ = kAtBegin;
    // A region of the plan has at least one extent in the hull, so there is a window.
    (void)next_in_region();
}

void Windows::advance() {
    ++number_;
    if (next_in_region()) return;
    regions_.advance();
    enter_region();
}

/// Advances to the region's next window that touches the hull; returns false if there is none.
bool Windows::next_in_region() {
    const Bytes bytes = plan_.layers().window_bytes();
    for (; extent_ < region_.count; ++extent_, from_ = kAtBegin) {
        const Extent extent = region_.extent(extent_);
        const Extent wanted = intersect(extent, hull_);
        const Offset first = region_.begin + extent_ * region_.stride;
        if (from_ < first) from_ = first;
        if (!wanted.empty() && from_ < wanted.begin)
            from_ += (wanted.begin - from_) / bytes * bytes;
        if (wanted.empty() || from_ >= wanted.end) continue;
        window_ = {from_, bytes, bytes, 1, extent};
        from_ += bytes;
        return true;
    }
    return false;
}

WindowPlaces::WindowPlaces(const Plan& plan, const Topology& topology, const NodeMemory& node,
                           Rank local_aggregator)
    : plan_(plan), node_(node), place_(node.place(local_aggregator)) {
    std::size_t before = 0;  // number of this node's local aggregators that come first
    for (const Rank local : plan.layers().local_aggregators()) {
        if (local == local_aggregator) break;
        before += are_beside(topology, local, local_aggregator) ? 1 : 0;
    }
    const auto bytes = static_cast<std::size_t>(plan.layers().windows_bytes(plan.direction));
    memory_ = node.buffers().subspan(before * bytes, bytes);
}

SlotControl& WindowPlaces::control(std::int64_t number) const {
    return node_.slot(place_, number % Layers::windows_max);
}

std::span<std::byte> WindowPlaces::data(std::int64_t number) const {
    const Bytes each = Layers::window_room + plan_.layers().window_bytes();
    const Bytes at = number % Layers::windows_max * each + Layers::window_room;
    return memory_.subspan(static_cast<std::size_t>(at),
                           static_cast<std::size_t>(plan_.layers().window_bytes()));
}

std::span<std::byte> WindowPlaces::mask(std::int64_t number) const {
    if (plan_.direction == Direction::read) return {};
    const Bytes bytes = plan_.layers().window_bytes();
    const Bytes at =
        Layers::windows_max * (Layers::window_room + bytes) + number % Layers::windows_max * bytes;
    return memory_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
}

WindowMember::WindowMember(const ExchangeContext& context, DataPort& own)
    : context_(context),
      own_(own),
      hull_(context.plan.ranks.hull_of(context.transport.topology().rank)),
      windows_(context.plan,
               context.plan.layers().local_aggregator_of(context.transport.topology().rank)),
      places_(context.plan, context.transport.topology(), *context.node,
              context.plan.layers().local_aggregator_of(context.transport.topology().rank)) {
    skip_untouched();
}

void WindowMember::skip_untouched() {
    while (!windows_.at_end() && !windows_.window().touches(hull_)) windows_.advance();
}

bool WindowMember::step() {
    bool moved = false;
    while (!windows_.at_end()) {
        SlotControl& control = places_.control(windows_.number());
        if (control.round != round_key(context_.sequence, windows_.number())) break;
        if (control.begin == windows_.window().begin) {
            const auto mask = places_.mask(windows_.number());
            const Copied copied =
                own_.copy(windows_.window(), places_.data(windows_.number()).data(),
                          mask.empty() ? nullptr : mask.data(), control.valid_until);
            if (context_.plan.direction == Direction::read) received_ += copied.bytes;
        } else {
            differs_ = true;
        }
        windows_.advance();
        skip_untouched();
        control.to_come.fetch_sub(1);
        moved = true;
    }
    return moved;
}

}  // namespace oratorio
