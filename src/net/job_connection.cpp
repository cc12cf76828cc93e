// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/job_listener.hpp"

namespace oratorio {
namespace {

using namespace std::chrono_literals;
using Clock = Socket::Clock;

/// The next address is tried when the current one has not answered for this long, or when all
/// attempts so far have failed.
constexpr auto kStagger = 250ms;

/// Maximum number of tries of one address while the server accepts each connection and then closes
/// it. A server with too many pending connections closes the oldest one.
constexpr int kTriesOfAddress = 8;

/// The attempt to connect to one address. It succeeds when the server's answer to the token has
/// arrived.
struct Attempt {
    std::size_t address = 0;  ///< index in the service's addresses
    Socket socket;
    int error = 0;  ///< errno of the failure; 0: none so far
    int tries = 0;
    bool asked = false;
    std::size_t filled = 0;
    Word answer{};
};

/// Tries the addresses of a service as RFC 8305 describes: the attempts start one after the other,
/// and then run in parallel. One address may not be enough: a firewall may drop what is sent to one
/// address, and another machine may have the same address.
class Connecting {
  public:
    explicit Connecting(const ServiceAddress& address) : address_(address) {}

    /// Returns the first connection on which the server has answered. If all addresses fail, or
    /// none has answered at the time `until`, the error has the errno of the first address, or
    /// ETIMEDOUT if that attempt has not failed.
    Result<Socket> run(Clock::time_point until) {
        for (;;) {
            if (attempts_.size() < address_.count && (Clock::now() >= next_ || !any_under_way()))
                begin();
            if (!any_under_way() && attempts_.size() == address_.count) break;
            if (Clock::now() >= until) break;
            const bool more = attempts_.size() < address_.count;
            std::vector<pollfd> watched;
            for (const Attempt& attempt : attempts_)
                watched.push_back({attempt.error == 0 ? attempt.socket.number() : -1,
                                   static_cast<short>(attempt.asked ? POLLIN : POLLOUT), 0});
            // poll() returned 0 at the timeout, or -1 after a signal: nothing is ready.
            if (::poll(watched.data(), watched.size(),
                       poll_timeout(more ? std::min(next_, until) : until)) <= 0)
                continue;
            for (std::size_t i = 0; i < attempts_.size(); ++i)
                if (watched[i].revents != 0 && advance(attempts_[i]))
                    return std::move(attempts_[i].socket);
        }
        const int error =
            attempts_.empty() || attempts_[0].error == 0 ? ETIMEDOUT : attempts_[0].error;
        return Error::make(ErrorKind::unsupported_operation, "connecting", error);
    }

  private:
    void begin() {
        const std::size_t address = attempts_.size();
        attempts_.emplace_back().address = address;
        connect(attempts_.back());
        next_ = Clock::now() + kStagger;
    }

    void connect(Attempt& attempt) const {
        auto socket = Socket::connect(address_.addresses[attempt.address],
                                      static_cast<std::uint16_t>(address_.port));
        Attempt next{attempt.address, Socket(), 0, attempt.tries + 1};
        if (socket) next.socket = std::move(*socket);
        if (!socket) next.error = socket.error().system_errno;
        attempt = std::move(next);
    }

    /// Records the failure of an established connection. Connects again if the server closed the
    /// connection and tries are left.
    void closed(Attempt& attempt, int error) const {
        attempt.error = error;
        if ((error == ECONNRESET || error == EPIPE) && attempt.tries < kTriesOfAddress)
            connect(attempt);
    }

    [[nodiscard]] bool any_under_way() const {
        return std::ranges::any_of(attempts_, [](const Attempt& each) { return each.error == 0; });
    }

    /// Sends the token, or receives the answer. Returns true when the server has answered.
    bool advance(Attempt& attempt) const {
        if (!attempt.asked) {
            attempt.error = attempt.socket.error();
            if (attempt.error != 0) return false;
            const auto sent = attempt.socket.send(to_word(address_.token), Clock::now());
            attempt.asked = true;
            if (!sent) closed(attempt, sent.error().system_errno);
            return false;
        }
        const auto got =
            attempt.socket.receive_some(std::span(attempt.answer).subspan(attempt.filled));
        if (got) attempt.filled += *got;
        if (!got && !Socket::would_wait(got.error())) closed(attempt, got.error().system_errno);
        if (attempt.filled < attempt.answer.size()) return false;
        if (from_word(attempt.answer) == address_.answer) return true;
        attempt.error = EPROTO;
        return false;
    }

    const ServiceAddress& address_;
    std::vector<Attempt> attempts_;
    Clock::time_point next_ = Clock::now();
};

}  // namespace

Result<Socket> connect_to(const ServiceAddress& address, Socket::Clock::time_point until) {
    return Connecting(address).run(until);
}

}  // namespace oratorio
