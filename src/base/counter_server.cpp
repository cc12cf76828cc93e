// SPDX-License-Identifier: BSD-3-Clause
#include <endian.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/helper_thread.hpp"
#include "base/served_counter.hpp"

namespace oratorio {
namespace {

using namespace std::chrono_literals;

constexpr auto kForToken = 10s;    ///< a connection without the token is closed after that
constexpr int kLookAgain = 100;    ///< milliseconds, while time changes what is to be done
constexpr int kAcceptAtOnce = 64;  ///< before those who are in are looked after again

}  // namespace

Word to_word(std::uint64_t value) {
    const std::uint64_t little = htole64(value);
    Word word;
    std::memcpy(word.data(), &little, word.size());
    return word;
}

std::uint64_t from_word(std::span<const std::byte> word) {
    std::uint64_t little = 0;
    std::memcpy(&little, word.data(), sizeof little);
    return le64toh(little);
}

CounterServer::CounterServer(Socket listener, Descriptor end, Rank clients)
    : clients_(static_cast<std::size_t>(clients)),
      listener_(std::move(listener)),
      end_(std::move(end)) {}

Result<std::unique_ptr<CounterServer>> CounterServer::start(Rank clients) {
    auto listener = Socket::listen();
    if (!listener) return listener.error();
    Descriptor end(::eventfd(0, EFD_CLOEXEC));
    if (end.number() < 0) return Error::make(kind_of_errno(errno), "making an eventfd", errno);
    std::unique_ptr<CounterServer> server(
        new CounterServer(std::move(*listener), std::move(end), clients));
    if (auto found = server->find_place(); !found) return found.error();
    const SignalsBlocked blocked;  // the new thread inherits it
    try {
        server->thread_ = std::thread([&self = *server] { self.run(); });
    } catch (const std::system_error& error) {
        return Error::make(ErrorKind::other, "starting a thread", error.code().value());
    }
    return server;
}

Result<void> CounterServer::find_place() {
    const auto port = listener_.port();
    if (!port) return port.error();
    auto addresses = own_addresses(listener_.hears_ipv6());
    if (!addresses) return addresses.error();
    if (addresses->empty()) return Error::make(ErrorKind::io, "this machine has no address");
    // The last is loopback, for ranks on this node.
    while (addresses->size() > place_.addresses.size()) addresses->erase(addresses->end() - 2);
    std::ranges::copy(*addresses, place_.addresses.begin());
    place_.count = static_cast<std::uint32_t>(addresses->size());
    place_.port = *port;
    std::array<std::uint64_t, 2> secrets{};
    if (::getrandom(secrets.data(), sizeof secrets, 0) != sizeof secrets)
        return Error::make(ErrorKind::io, "getting random bytes", errno);
    place_.token = secrets[0];
    place_.answer = secrets[1];
    return {};
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

void CounterServer::run() {
    use_all_cores();
    std::vector<pollfd> watched;
    for (;;) {
        const int ready = poll_once(watched);
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || watched[0].revents != 0) break;
        for (std::size_t i = connections_.size(); i-- > 0;) {
            Connection& client = connections_[i];
            const bool late = !client.admitted && Socket::Clock::now() >= client.until;
            const bool keep = watched[i + 2].revents != 0 ? serve(client) : !late;
            if (!keep) connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        crowded_ = false;
        if (watched[1].revents != 0) accept_some();
    }
    // Clients find out at once, also where poll(2) failed.
    connections_.clear();
    listener_ = Socket();
}

/// `watched`: the end, the listener, then the connections.
int CounterServer::poll_once(std::vector<pollfd>& watched) const {
    watched = {{end_.number(), POLLIN, 0}, {crowded_ ? -1 : listener_.number(), POLLIN, 0}};
    bool strangers = false;
    for (const Connection& client : connections_) {
        watched.push_back({client.socket.number(), POLLIN, 0});
        strangers = strangers || !client.admitted;
    }
    return ::poll(watched.data(), watched.size(), crowded_ || strangers ? kLookAgain : -1);
}

void CounterServer::accept_some() {
    for (int i = 0; i < kAcceptAtOnce; ++i) {
        auto accepted = listener_.accept();
        if (accepted) {
            welcome(std::move(*accepted));
            continue;
        }
        const int number = accepted.error().system_errno;
        if (number == EINTR || number == ECONNABORTED) continue;
        if (number == EAGAIN) return;
        crowded_ = !drop_oldest_stranger();
        if (crowded_) return;
    }
}

/// A rank says the token as soon as it is connected: mostly it is there already.
void CounterServer::welcome(Socket socket) {
    Connection& client = connections_.emplace_back(
        Connection{.socket = std::move(socket), .until = Socket::Clock::now() + kForToken});
    if (!serve(client)) return connections_.pop_back();
    const auto strangers = std::ranges::count(connections_, false, &Connection::admitted);
    if (static_cast<std::size_t>(strangers) > strangers_max) drop_oldest_stranger();
}

/// False where there is none.
bool CounterServer::drop_oldest_stranger() {
    const auto oldest = std::ranges::find(connections_, false, &Connection::admitted);
    if (oldest == connections_.end()) return false;
    connections_.erase(oldest);
    return true;
}

/// Takes what has come. False when the connection is over.
bool CounterServer::serve(Connection& client) {
    const std::span whole = std::span(client.request).first(client.admitted ? 16 : 8);
    const auto got = client.socket.receive_some(whole.subspan(client.filled));
    if (!got) return got.error().system_errno == EAGAIN;
    client.filled += *got;
    if (client.filled < whole.size()) return true;
    client.filled = 0;
    const auto reply = reply_to(client);
    // A client waits for each reply, so there is room for it, or it doesn't keep to the rules.
    return reply && client.socket.send(to_word(*reply), Socket::Clock::now()).ok();
}

/// A comparison of one word takes as long whatever is in it. A rank may have a connection to each
/// address until one of them has answered.
bool CounterServer::may_come_in(std::uint64_t word) const {
    const auto inside = std::ranges::count(connections_, true, &Connection::admitted);
    return word == place_.token &&
           static_cast<std::size_t>(inside) < clients_ * std::max(place_.count, 1U);
}

/// Nothing for who may not ask that.
std::optional<std::uint64_t> CounterServer::reply_to(Connection& client) {
    const std::span request(client.request);
    const std::uint64_t first = from_word(request.first(8));
    if (!client.admitted) {
        client.admitted = may_come_in(first);
        return client.admitted ? std::optional(place_.answer) : std::nullopt;
    }
    const auto operand = static_cast<std::int64_t>(from_word(request.last(8)));
    switch (static_cast<CounterOperation>(first)) {
        case CounterOperation::add:
            return static_cast<std::uint64_t>(number_.fetch_add(operand));
        case CounterOperation::set:
            return static_cast<std::uint64_t>(number_.exchange(operand));
    }
    return std::nullopt;
}

}  // namespace oratorio
