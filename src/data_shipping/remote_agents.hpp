// SPDX-License-Identifier: BSD-3-Clause
// Agents that are threads of other processes, or of this one, reached by TCP through their job
// listeners (net/job_listener). This side also receives while it sends: an agent that can't send
// its replies would take no more requests.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "data_shipping/agents.hpp"
#include "data_shipping/shared_buffers.hpp"
#include "net/job_listener.hpp"

struct pollfd;

namespace oratorio {

struct AgentLimits {
    std::chrono::milliseconds connect{10'000};
    /// An agent counts as gone if its machine has acknowledged nothing for this time, however slow
    /// its storage is.
    std::chrono::milliseconds silence{30'000};
};

class RemoteAgents final : public Agents {
  public:
    /// Connects to all agents. If one can't be reached, returns unsupported_operation with the
    /// errno.
    static Result<std::unique_ptr<RemoteAgents>> connect(std::span<const ServiceAddress> places,
                                                         Bytes block, Bytes shipment_max,
                                                         const AgentLimits& limits = {});

    /// Sets memory for whole requests (`mine`), part of `buffers`, which the agents marked in
    /// `beside` share. REQUIRES: the memory outlives this object.
    void share(const SharedBuffers& buffers, std::span<std::byte> mine, std::vector<bool> beside) {
        buffers_ = buffers;
        mine_ = mine;
        for (std::size_t i = 0; i < ways_.size(); ++i) ways_[i].is_beside = beside[i];
    }

    [[nodiscard]] const Binding& binding() const override { return binding_; }
    [[nodiscard]] Bytes shipment_max() const override { return shipment_max_; }
    [[nodiscard]] std::span<std::byte> own_memory() override { return mine_; }
    /// Starts to send the request; reap() sends the rest.
    bool ship(const Shipment& shipment) override;
    std::size_t reap(std::span<ReplyHead> out) override;

  private:
    /// The connection to one agent.
    struct Way {
        Socket socket;
        std::uint64_t service = 0;
        bool is_beside = false;
        std::deque<Shipment> sending;  ///< requests to send; the first may be sent in part
        std::size_t sent = 0;          ///< bytes sent of the first request
        std::vector<Shipment> awaited;
        std::size_t heard = 0;  ///< bytes received of a reply, its head included
        ReplyHead reply;
        std::span<std::byte> data;  ///< where the reply's data goes
        std::optional<Error> failed;
    };

    RemoteAgents(const Binding& binding, Bytes shipment_max, const AgentLimits& limits)
        : binding_(binding), shipment_max_(shipment_max), limits_(limits) {}
    void share(Shipment& shipment) const;
    [[nodiscard]] Result<void> send_some(Way& way) const;
    [[nodiscard]] Result<void> hear_some(Way& way);
    [[nodiscard]] Result<void> begin_reply(Way& way) const;
    void finish_reply(Way& way);
    void advance(Way& way, const pollfd& ready);
    void fail(Way& way, const Error& error);
    [[nodiscard]] bool wait();

    Binding binding_;
    Bytes shipment_max_;
    AgentLimits limits_;
    SharedBuffers buffers_;
    std::span<std::byte> mine_;
    std::vector<Way> ways_;
    std::deque<ReplyHead> done_;
};

}  // namespace oratorio
