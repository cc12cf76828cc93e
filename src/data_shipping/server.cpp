// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/server.hpp"

#include <utility>

namespace oratorio {

AgentServer::AgentServer(std::shared_ptr<AgentHost> host, ServedFile file)
    : file_(std::move(file)), host_(std::move(host)), place_(host_->add(file_)) {}

Result<std::unique_ptr<AgentServer>> AgentServer::start(Wish wish) {
    const AgentHost::Wish wanted{wish.file.stores.size(), wish.shipment_max, wish.patience};
    auto host = wish.hosts != nullptr ? wish.hosts->get(wanted) : AgentHost::start(wanted);
    if (!host) return host.error();
    return std::unique_ptr<AgentServer>(new AgentServer(std::move(*host), std::move(wish.file)));
}

Result<void> AgentServer::close() {
    if (host_ == nullptr) return {};
    host_->remove(place_);
    host_.reset();
    Result<void> outcome;
    for (const auto& store : std::exchange(file_.stores, {})) {
        if (auto closed = store->close(); !closed && outcome) outcome = closed;
    }
    return outcome;
}

}  // namespace oratorio
