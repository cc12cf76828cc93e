// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "base/served_counter.hpp"

namespace oratorio {

Result<std::unique_ptr<HostedCounter>> CounterService::host() {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<CounterServer> server = server_.lock();
    if (server == nullptr || !server->is_running()) {
        auto started = CounterServer::start();
        if (!started) return started.error();
        server = std::move(*started);
        server_ = server;
    }
    return std::make_unique<HostedCounter>(std::move(server));
}

std::unique_ptr<Counter> CounterService::reach(const CounterPlace& place, Rank rank) {
    const std::lock_guard lock(mutex_);
    std::erase_if(connections_, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<CounterConnection>& known = connections_[place.server.token];
    std::shared_ptr<CounterConnection> connection = known.lock();
    if (connection == nullptr || connection->has_failed()) {
        connection = std::make_shared<CounterConnection>(place.server);
        known = connection;
    }
    return std::make_unique<CounterClient>(std::move(connection), place.id, rank);
}

void CounterService::stop() {
    const std::lock_guard lock(mutex_);
    if (const auto server = server_.lock()) server->stop();
}

}  // namespace oratorio
