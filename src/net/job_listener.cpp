// SPDX-License-Identifier: BSD-3-Clause
#include "net/job_listener.hpp"

#include <endian.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/system_call.hpp"

namespace oratorio {
namespace {

using namespace std::chrono_literals;

constexpr auto kForToken = 10s;  ///< time after which a connection without the token is closed
/// Maximum time between two calls of look(), in milliseconds, while a connection is pending or the
/// process has no descriptor for another one.
constexpr int kLookAgain = 100;
constexpr int kAcceptAtOnce = 64;  ///< maximum number of connections accepted by one look()

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

Result<JobListener> JobListener::open() {
    auto socket = Socket::listen();
    if (!socket) return socket.error();
    JobListener listener(std::move(*socket));
    if (auto found = listener.find_address(); !found) return found.error();
    return listener;
}

Result<void> JobListener::find_address() {
    const auto port = listener_.port();
    if (!port) return port.error();
    auto addresses = own_addresses(listener_.hears_ipv6());
    if (!addresses) return addresses.error();
    if (addresses->empty())
        return Error::make(ErrorKind::io, "this machine has no network address, not even loopback");
    // The last address is loopback, for ranks on this node.
    while (addresses->size() > address_.addresses.size()) addresses->erase(addresses->end() - 2);
    std::ranges::copy(*addresses, address_.addresses.begin());
    address_.count = static_cast<std::uint32_t>(addresses->size());
    address_.port = *port;
    std::array<std::uint64_t, 2> secrets{};
    const Answer random =
        uninterrupted([&] { return ::getrandom(secrets.data(), sizeof secrets, 0); });
    if (random.result != sizeof secrets)
        return Error::make(ErrorKind::io, "getting random bytes", random.error_number);
    address_.token = secrets[0];
    address_.answer = secrets[1];
    return {};
}

void JobListener::watch(std::vector<pollfd>& watched) const {
    watched.push_back({crowded_ ? -1 : listener_.number(), POLLIN, 0});
    for (const PendingPeer& peer : pending_) watched.push_back({peer.socket.number(), POLLIN, 0});
}

int JobListener::patience() const {
    return crowded_ || !pending_.empty() ? kLookAgain : -1;
}

std::vector<Socket> JobListener::look(std::span<const pollfd> watched, std::size_t wanted) {
    wanted_ = wanted;
    admitted_.clear();
    for (std::size_t i = pending_.size(); i-- > 0 && !has_enough();) {
        const bool late = Socket::Clock::now() >= pending_[i].until;
        const Verdict verdict = watched[i + 1].revents != 0 ? hear(pending_[i])
                                : late                      ? Verdict::goes
                                                            : Verdict::waits;
        if (verdict == Verdict::waits) continue;
        if (verdict == Verdict::comes_in) admitted_.push_back(std::move(pending_[i].socket));
        pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    crowded_ = false;
    if (watched[0].revents != 0) accept_some();
    return std::move(admitted_);
}

/// Accepts waiting connections. A rank sends the token as soon as it is connected, so the token can
/// usually be read at once.
void JobListener::accept_some() {
    for (int i = 0; i < kAcceptAtOnce && !has_enough(); ++i) {
        auto accepted = listener_.accept();
        if (accepted) {
            PendingPeer peer{.socket = std::move(*accepted),
                             .until = Socket::Clock::now() + kForToken};
            const Verdict verdict = hear(peer);
            if (verdict == Verdict::comes_in) admitted_.push_back(std::move(peer.socket));
            if (verdict != Verdict::waits) continue;
            pending_.push_back(std::move(peer));
            if (pending_.size() > pending_max) drop_oldest();
            continue;
        }
        const int number = accepted.error().system_errno;
        if (number == EINTR || number == ECONNABORTED) continue;
        if (number == EAGAIN || !somebody_waits()) return;
        crowded_ = !drop_oldest();
        if (crowded_) return;
    }
}

/// Returns true if this call of look() has as many connections as it may return.
bool JobListener::has_enough() const {
    return wanted_ > 0 && admitted_.size() == wanted_;
}

/// Returns true if a connection waits to be accepted. This needs poll(2), because without a free
/// descriptor accept(2) fails in the same way whether a connection waits or not.
bool JobListener::somebody_waits() const {
    pollfd waiting{listener_.number(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
}

/// Closes the oldest pending connection, and returns false if there is none.
bool JobListener::drop_oldest() {
    if (pending_.empty()) return false;
    pending_.erase(pending_.begin());
    return true;
}

/// Receives the part of the token that has arrived. Once the token is complete, checks it, and
/// sends the answer if it is right. The comparison of one word takes the same time for every value.
JobListener::Verdict JobListener::hear(PendingPeer& peer) const {
    const auto got = peer.socket.receive_some(std::span(peer.token).subspan(peer.filled));
    if (!got) return Socket::would_wait(got.error()) ? Verdict::waits : Verdict::goes;
    peer.filled += *got;
    if (peer.filled < peer.token.size()) return Verdict::waits;
    if (from_word(peer.token) != address_.token || wanted_ == 0) return Verdict::goes;
    // Nothing was sent on this socket before, so it has room for the answer.
    const auto answered = peer.socket.send(to_word(address_.answer), Socket::Clock::now());
    return answered ? Verdict::comes_in : Verdict::goes;
}

}  // namespace oratorio
