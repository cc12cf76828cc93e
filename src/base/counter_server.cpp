// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/helper_thread.hpp"
#include "base/served_counter.hpp"

namespace oratorio {

CounterServer::CounterServer(Door door, Descriptor end, Rank clients)
    : clients_(static_cast<std::size_t>(clients)),
      place_(door.place()),
      door_(std::move(door)),
      end_(std::move(end)) {}

Result<std::unique_ptr<CounterServer>> CounterServer::start(Rank clients) {
    auto door = Door::open();
    if (!door) return door.error();
    Descriptor end(::eventfd(0, EFD_CLOEXEC));
    if (end.number() < 0) return Error::of_errno("making an eventfd");
    std::unique_ptr<CounterServer> server(
        new CounterServer(std::move(*door), std::move(end), clients));
    const SignalsBlocked blocked;  // the new thread inherits it
    try {
        server->thread_ = std::thread([&self = *server] { self.run(); });
    } catch (const std::system_error& error) {
        return Error::make(ErrorKind::other, "starting a thread", error.code().value());
    }
    return server;
}

CounterServer::~CounterServer() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(end_.number(), &one, sizeof one);
    thread_.join();
}

Result<void> CounterServer::set(std::int64_t to) {
    number_ = to;
    return {};
}

/// What is watched: the end, the connections, then the door.
void CounterServer::run() {
    use_all_cores();
    std::vector<pollfd> watched;
    for (;;) {
        watched = {{end_.number(), POLLIN, 0}};
        for (const Connection& client : connections_)
            watched.push_back({client.socket.number(), POLLIN, 0});
        door_.watch(watched);
        const int ready = ::poll(watched.data(), watched.size(), door_.patience());
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || watched[0].revents != 0) break;
        const auto at_door = std::span(watched).subspan(1 + connections_.size());
        for (std::size_t i = connections_.size(); i-- > 0;) {
            if (watched[i + 1].revents != 0 && !serve(connections_[i]))
                connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (Socket& socket : door_.look(at_door, room()))
            connections_.push_back({.socket = std::move(socket)});
    }
    // Clients find out at once, also where poll(2) failed.
    connections_.clear();
    door_ = Door();
}

/// A rank may have a connection to each address until one of them has answered.
std::size_t CounterServer::room() const {
    const std::size_t most = clients_ * std::max(place_.count, 1U);
    return most - std::min(most, connections_.size());
}

/// Takes what has come. False when the connection is over.
bool CounterServer::serve(Connection& client) {
    const auto got = client.socket.receive_some(std::span(client.request).subspan(client.filled));
    if (!got) return Socket::would_wait(got.error());
    client.filled += *got;
    if (client.filled < client.request.size()) return true;
    client.filled = 0;
    const auto reply = reply_to(client);
    // A client waits for each reply, so there is room for it, or it doesn't keep to the rules.
    return reply && client.socket.send(to_word(*reply), Socket::Clock::now()).ok();
}

/// Nothing for who asks for what there is not.
std::optional<std::uint64_t> CounterServer::reply_to(const Connection& client) {
    const std::span request(client.request);
    const auto operand = static_cast<std::int64_t>(from_word(request.last(8)));
    switch (static_cast<CounterOperation>(from_word(request.first(8)))) {
        case CounterOperation::add:
            return static_cast<std::uint64_t>(number_.fetch_add(operand));
        case CounterOperation::set:
            return static_cast<std::uint64_t>(number_.exchange(operand));
    }
    return std::nullopt;
}

}  // namespace oratorio
