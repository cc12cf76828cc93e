// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "base/helper_thread.hpp"
#include "net/served_counter.hpp"

namespace oratorio {

namespace {

std::size_t room_for_connections() {
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return CounterServer::connections_max;
    return std::clamp<std::size_t>(descriptors.rlim_cur / 4, 1, CounterServer::connections_max);
}

CounterRequest request_of(std::span<const std::byte> words) {
    return {.operation = static_cast<CounterOperation>(from_word(words.first(8))),
            .counter = from_word(words.subspan(8, 8)),
            .operand = static_cast<std::int64_t>(from_word(words.subspan(16, 8))),
            .client = from_word(words.subspan(24, 8)),
            .number = from_word(words.subspan(32, 8))};
}

}  // namespace

CounterServer::CounterServer(JobListener listener, Descriptor end, Descriptor spare)
    : address_(listener.address()),
      listener_(std::move(listener)),
      end_(std::move(end)),
      spare_(std::move(spare)),
      room_(room_for_connections()) {}

Result<std::unique_ptr<CounterServer>> CounterServer::start() {
    auto listener = JobListener::open();
    if (!listener) return listener.error();
    Descriptor end(::eventfd(0, EFD_CLOEXEC));
    if (end.number() < 0) return Error::of_errno("creating an eventfd");
    Descriptor spare(::fcntl(end.number(), F_DUPFD_CLOEXEC, 0));
    if (spare.number() < 0) return Error::of_errno("keeping a descriptor for a connection");
    std::unique_ptr<CounterServer> server(
        new CounterServer(std::move(*listener), std::move(end), std::move(spare)));
    const SignalsBlocked blocked;  // the new thread inherits the mask of blocked signals
    try {
        server->thread_ = std::thread([&self = *server] { self.run(); });
    } catch (const std::system_error& error) {
        return Error::make(ErrorKind::other, "starting a thread", error.code().value());
    }
    return server;
}

void CounterServer::stop() {
    if (stopped_.exchange(true) || !thread_.joinable()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(end_.number(), &one, sizeof one);
    thread_.join();
}

std::uint64_t CounterServer::add() {
    const std::lock_guard lock(mutex_);
    counters_.emplace(++last_id_, Counted{});
    return last_id_;
}

void CounterServer::remove(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    counters_.erase(id);
}

std::optional<std::int64_t> CounterServer::serve(const CounterRequest& request) {
    const std::lock_guard lock(mutex_);
    const auto found = counters_.find(request.counter);
    if (found == counters_.end()) return std::nullopt;
    std::int64_t& number = found->second.number;
    Served& last = found->second.last[request.client];
    if (last.request == request.number) return last.before;
    last = {request.number, number};
    number = request.operation == CounterOperation::set ? request.operand
                                                        : wrapping_sum(number, request.operand);
    return last.before;
}

/// Serves until stop(). Then closes the connections, so that clients notice the end at once,
/// whatever its reason.
void CounterServer::run() {
    use_all_cores();
    try {
        serve_all();
    } catch (const std::bad_alloc&) {
        // End the server: its clients get errors, and the program continues.
    }
    connections_.clear();
    listener_ = JobListener();
}

/// Serves clients. `watched` holds, in this order, the descriptor that ends the thread, the
/// connections, and the listener's descriptors.
void CounterServer::serve_all() {
    std::vector<pollfd> watched;
    for (;;) {
        watched = {{end_.number(), POLLIN, 0}};
        for (const Connection& client : connections_)
            watched.push_back({client.socket.number(), POLLIN, 0});
        listener_.watch(watched);
        const int ready = ::poll(watched.data(), watched.size(), listener_.patience());
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || watched[0].revents != 0) return;
        const auto at_door = std::span(watched).subspan(1 + connections_.size());
        serve_connections(std::span(watched).subspan(1, connections_.size()));
        admit(at_door);
    }
}

/// Serves the connections that are readable, and moves them to the end of the list, so that the
/// least recently used connection is first. Removes connections that have ended.
void CounterServer::serve_connections(std::span<const pollfd> watched) {
    std::vector<Connection> used;
    std::size_t left = 0;
    for (std::size_t i = 0; i < watched.size(); ++i) {
        Connection& client = connections_[i];
        if (watched[i].revents == 0) {
            if (left != i) connections_[left] = std::move(client);
            ++left;
        } else if (answer(client)) {
            used.push_back(std::move(client));
        }
    }
    connections_.resize(left);
    std::ranges::move(used, std::back_inserter(connections_));
}

/// Admits clients. Closes the least recently used connections if there are too many; if descriptors
/// have run out, closes one connection, or the spare descriptor if no connection is left.
void CounterServer::admit(std::span<const pollfd> at_door) {
    for (Socket& socket : listener_.look(at_door, room_))
        connections_.push_back({.socket = std::move(socket)});
    std::size_t leaving = connections_.size() - std::min(connections_.size(), room_);
    if (leaving == 0 && listener_.is_crowded() && !connections_.empty()) leaving = 1;
    connections_.erase(connections_.begin(),
                       connections_.begin() + static_cast<std::ptrdiff_t>(leaving));
    const bool has_spare = spare_.number() >= 0;
    if (listener_.is_crowded() && (leaving > 0 || has_spare)) {
        if (leaving == 0) (void)spare_.close();
        listener_.try_again();
    } else if (connections_.empty() && !has_spare) {
        spare_ = Descriptor(::fcntl(end_.number(), F_DUPFD_CLOEXEC, 0));
    }
}

/// Receives the bytes that have arrived, and answers the request once it is complete. Returns false
/// if the connection must be closed.
bool CounterServer::answer(Connection& client) {
    const auto got = client.socket.receive_some(std::span(client.request).subspan(client.filled));
    if (!got) return Socket::would_wait(got.error());
    client.filled += *got;
    if (client.filled < client.request.size()) return true;
    client.filled = 0;
    const CounterRequest request = request_of(client.request);
    if (request.operation != CounterOperation::add && request.operation != CounterOperation::set)
        return false;
    const auto before = serve(request);
    std::array<std::byte, kCounterReply> reply{};
    std::ranges::copy(to_word(before ? kServed : kUnknown), reply.begin());
    std::ranges::copy(to_word(static_cast<std::uint64_t>(before.value_or(0))), reply.begin() + 8);
    // A client waits for each reply before its next request, so the socket has room for this reply
    // unless the client breaks the protocol.
    return client.socket.send(reply, Socket::Clock::now()).ok();
}

}  // namespace oratorio
