// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/server.hpp"

#include <utility>

namespace oratorio {

AgentServer::AgentServer(std::shared_ptr<AgentHost> host, ServedFile file)
    : file_(std::move(file)), host_(std::move(host)), address_(host_->add(file_)) {}

Result<std::unique_ptr<AgentServer>> AgentServer::start(Options options) {
    const AgentHost::Options wanted{options.file.stores.size(), options.shipment_max,
                                    options.patience};
    auto host = options.hosts != nullptr ? options.hosts->get(wanted) : AgentHost::start(wanted);
    if (!host) return host.error();
    return std::unique_ptr<AgentServer>(new AgentServer(std::move(*host), std::move(options.file)));
}

Result<void> AgentServer::close() {
    if (host_ == nullptr) return {};
    host_->remove(address_);
    host_.reset();
    Result<void> outcome;
    for (const auto& store : std::exchange(file_.stores, {})) {
        if (auto closed = store->close(); !closed && outcome) outcome = closed;
    }
    return outcome;
}

}  // namespace oratorio
