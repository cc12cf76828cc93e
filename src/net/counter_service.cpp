// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "net/served_counter.hpp"

namespace oratorio {

Result<std::unique_ptr<HostedCounter>> CounterService::host() {
    const std::lock_guard lock(mutex_);
    if (server_ == nullptr) {
        auto started = CounterServer::start();
        if (!started) return started.error();
        server_ = std::move(*started);
    }
    return std::make_unique<HostedCounter>(server_);
}

std::unique_ptr<SharedCounter> CounterService::reach(const CounterPlace& address, Rank rank) {
    const std::lock_guard lock(mutex_);
    std::erase_if(connections_, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<CounterConnection>& known = connections_[address.server.token];
    std::shared_ptr<CounterConnection> connection = known.lock();
    if (connection == nullptr || connection->has_failed()) {
        connection = std::make_shared<CounterConnection>(address.server);
        known = connection;
    }
    return std::make_unique<CounterClient>(std::move(connection), address.id, rank);
}

void CounterService::stop() {
    const std::lock_guard lock(mutex_);
    if (server_ != nullptr) server_->stop();
    server_.reset();
}

void CounterService::retire() {
    const std::lock_guard lock(mutex_);
    if (server_.use_count() == 1) server_.reset();
}

}  // namespace oratorio
