// SPDX-License-Identifier: BSD-3-Clause
// Agents that run on the rank itself, on its own store. They serve simulated ranks, because only
// the thread whose turn it is may touch a simulated rank's storage.
#pragma once

#include <deque>

#include "data_shipping/agents.hpp"
#include "data_shipping/service.hpp"

namespace oratorio {

class InlineAgents final : public Agents {
  public:
    InlineAgents(Store& store, const Binding& binding, Bytes shipment_max)
        : store_(store), binding_(binding), shipment_max_(shipment_max) {}

    [[nodiscard]] const Binding& binding() const override { return binding_; }
    [[nodiscard]] Bytes shipment_max() const override { return shipment_max_; }
    bool ship(const Shipment& shipment) override {
        (void)store_.prepare();  // an error also shows in the requests
        Service service(store_, binding_, shipment.agent);
        done_.push_back(service.serve(shipment.head, shipment.description, shipment.data));
        return false;
    }
    std::size_t reap(std::span<ReplyHead> out) override {
        if (done_.empty() || out.empty()) return 0;
        out[0] = done_.front();
        done_.pop_front();
        return 1;
    }

  private:
    Store& store_;
    Binding binding_;
    Bytes shipment_max_;
    std::deque<ReplyHead> done_;
};

}  // namespace oratorio
