// SPDX-License-Identifier: BSD-3-Clause
#include "net/lock_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "base/helper_thread.hpp"

namespace oratorio {
namespace {

/// Maximum number of clients. It is large, because the server doesn't know how many processes the
/// job has. In fact this process's limit of open files bounds the number of clients.
constexpr std::size_t kClientsMax = 1 << 20;

}  // namespace

LockMessage lock_message(LockOperation operation, const LockTable::Request& wanted,
                         std::uint64_t number) {
    LockMessage message{};
    std::size_t at = 0;
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(operation), wanted.file.file, wanted.file.file_system,
          static_cast<std::uint64_t>(wanted.range.begin),
          static_cast<std::uint64_t>(wanted.range.end), number}) {
        std::ranges::copy(to_word(value), message.begin() + static_cast<std::ptrdiff_t>(at));
        at += sizeof(Word);
    }
    return message;
}

LockServer::LockServer(JobListener listener, Descriptor end)
    : address_(listener.address()), listener_(std::move(listener)), end_(std::move(end)) {}

Result<std::unique_ptr<LockServer>> LockServer::start() {
    auto listener = JobListener::open();
    if (!listener) return listener.error();
    Descriptor end(::eventfd(0, EFD_CLOEXEC));
    if (end.number() < 0) return Error::of_errno("creating an eventfd");
    std::unique_ptr<LockServer> server(new LockServer(std::move(*listener), std::move(end)));
    const SignalsBlocked blocked;  // the new thread inherits the mask of blocked signals
    try {
        server->thread_ = std::thread([&self = *server] { self.run(); });
    } catch (const std::system_error& error) {
        return Error::make(ErrorKind::other, "starting a thread", error.code().value());
    }
    return server;
}

LockServer::~LockServer() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(end_.number(), &one, sizeof one);
    thread_.join();
}

/// Serves until the server ends. Then closes all connections, so that clients notice the end at
/// once, whatever its reason.
void LockServer::run() {
    use_all_cores();
    try {
        serve_all();
    } catch (const std::bad_alloc&) {
        // End the server: errors at its clients are better than a lock with two holders.
    }
    connections_.clear();
    listener_ = JobListener();
}

/// Serves clients. `watched` holds, in this order, the descriptor that ends the thread, the
/// connections, and the listener's descriptors.
void LockServer::serve_all() {
    std::vector<pollfd> watched;
    for (;;) {
        watched = {{end_.number(), POLLIN, 0}};
        std::vector<Owner> owners;
        for (const auto& [owner, client] : connections_) {
            watched.push_back({client.socket.number(), POLLIN, 0});
            owners.push_back(owner);
        }
        listener_.watch(watched);
        const int ready = ::poll(watched.data(), watched.size(), listener_.patience());
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || watched[0].revents != 0) return;
        for (std::size_t i = 0; i < owners.size(); ++i) {
            if (watched[i + 1].revents == 0) continue;
            const auto found = connections_.find(owners[i]);
            if (found != connections_.end() && !serve(owners[i], found->second)) drop(owners[i]);
        }
        const auto at_door = std::span(watched).subspan(1 + owners.size());
        const std::size_t room = kClientsMax - std::min(kClientsMax, connections_.size());
        for (Socket& socket : listener_.look(at_door, room)) {
            socket.end_when_silent(kLockPeerSilence);
            connections_.emplace(++last_owner_, Connection{.socket = std::move(socket)});
        }
    }
}

/// Receives the bytes that have arrived, and handles the request once it is complete. Returns false
/// if the connection must be closed.
bool LockServer::serve(Owner owner, Connection& client) {
    const auto got = client.socket.receive_some(std::span(client.request).subspan(client.filled));
    if (!got) return Socket::would_wait(got.error());
    client.filled += *got;
    if (client.filled < client.request.size()) return true;
    client.filled = 0;
    return handle(owner, client);
}

/// Handles one request. Returns false if it is invalid or the answer can't be sent.
bool LockServer::handle(Owner owner, Connection& client) {
    const auto word = [&](std::size_t at) {
        return from_word(std::span(client.request).subspan(at * sizeof(Word), sizeof(Word)));
    };
    const auto operation = static_cast<LockOperation>(word(0));
    const std::uint64_t number = word(5);
    if (operation == LockOperation::release) {
        if (!locks_.has(owner) || number != client.number) return false;
        release(owner);
        return true;
    }
    if (operation != LockOperation::share && operation != LockOperation::exclude) return false;
    const Extent range{static_cast<Offset>(word(3)), static_cast<Offset>(word(4))};
    if (locks_.has(owner) || range.begin < 0 || range.end <= range.begin) return false;
    client.number = number;
    const bool granted =
        locks_.request(owner, {{word(1), word(2)}, range, operation == LockOperation::exclude});
    return !granted || grant(client);
}

/// Sends the number of a granted lock. A client reads this answer, or withdraws its request and
/// reads the answer while it waits for a later one. So few answers are unread at a time, and the
/// socket has room for this one unless the client breaks the protocol.
bool LockServer::grant(const Connection& client) {
    return client.socket.send(to_word(client.number), Socket::Clock::now()).ok();
}

void LockServer::release(Owner owner) {
    for (const Owner next : locks_.release(owner)) {
        const auto found = connections_.find(next);
        if (found != connections_.end() && !grant(found->second)) drop(next);
    }
}

/// Ends a connection and frees its lock. Removes the connection first: freeing the lock may drop
/// further connections, and their locks must not be granted to this one.
void LockServer::drop(Owner owner) {
    connections_.erase(owner);
    release(owner);
}

}  // namespace oratorio
