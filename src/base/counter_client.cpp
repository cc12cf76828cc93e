// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/served_counter.hpp"

namespace oratorio {
namespace {

using namespace std::chrono_literals;
using Clock = Socket::Clock;

/// The next address is tried when this one has not answered for so long, or has failed.
constexpr auto kStagger = 250ms;

/// How often one address is tried where the connection is made and then closed: a server that many
/// strangers besiege may have taken us for one of them.
constexpr int kTries = 8;

/// Trying one address: it is ours when the server's answer to the token has come.
struct Attempt {
    std::size_t address = 0;  ///< of the place
    Socket socket;
    int error = 0;  ///< errno
    int tries = 0;
    bool asked = false;
    std::size_t filled = 0;
    Word answer{};
};

/// Tries the addresses of a place, one after the other but side by side, as RFC 8305 has it: a
/// firewall may swallow what is sent to one, and another machine may have it, too.
class Connecting {
  public:
    explicit Connecting(const CounterPlace& place) : place_(place) {}

    /// The errno of the first address where all fail.
    Result<Socket> run(Clock::time_point until) {
        for (;;) {
            if (attempts_.size() < place_.count && (Clock::now() >= next_ || !any_under_way()))
                begin();
            if (!any_under_way() && attempts_.size() == place_.count) break;
            if (Clock::now() >= until) break;
            const bool more = attempts_.size() < place_.count;
            std::vector<pollfd> watched;
            for (const Attempt& attempt : attempts_)
                watched.push_back({attempt.error == 0 ? attempt.socket.number() : -1,
                                   static_cast<short>(attempt.asked ? POLLIN : POLLOUT), 0});
            // Nothing is ready after an error: a signal.
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
        auto socket = Socket::connect(place_.addresses[attempt.address],
                                      static_cast<std::uint16_t>(place_.port));
        Attempt next{attempt.address, Socket(), 0, attempt.tries + 1};
        if (socket) next.socket = std::move(*socket);
        if (!socket) next.error = socket.error().system_errno;
        attempt = std::move(next);
    }

    /// After a failure with a connection that was there.
    void closed(Attempt& attempt, int error) const {
        attempt.error = error;
        if ((error == ECONNRESET || error == EPIPE) && attempt.tries < kTries) connect(attempt);
    }

    [[nodiscard]] bool any_under_way() const {
        return std::ranges::any_of(attempts_, [](const Attempt& each) { return each.error == 0; });
    }

    /// True when the server has answered.
    bool advance(Attempt& attempt) const {
        if (!attempt.asked) {
            attempt.error = attempt.socket.error();
            if (attempt.error != 0) return false;
            const auto sent = attempt.socket.send(to_word(place_.token), Clock::now());
            attempt.asked = true;
            if (!sent) closed(attempt, sent.error().system_errno);
            return false;
        }
        const auto got =
            attempt.socket.receive_some(std::span(attempt.answer).subspan(attempt.filled));
        if (got) attempt.filled += *got;
        if (!got && got.error().system_errno != EAGAIN) closed(attempt, got.error().system_errno);
        if (attempt.filled < attempt.answer.size()) return false;
        if (from_word(attempt.answer) == place_.answer) return true;
        attempt.error = EPROTO;
        return false;
    }

    const CounterPlace& place_;
    std::vector<Attempt> attempts_;
    Clock::time_point next_ = Clock::now();
};

}  // namespace

Result<void> CounterClient::set(std::int64_t to) {
    const auto before = ask(CounterOperation::set, to);
    return before ? Result<void>() : before.error();
}

Result<std::int64_t> CounterClient::ask(CounterOperation operation, std::int64_t operand) {
    if (failed_) return *failed_;
    if (auto ready = connect(); !ready) {
        failed_ = ready.error();
        return *failed_;
    }
    auto before = request(operation, operand);
    if (!before) {
        failed_ = before.error();
        socket_ = Socket();
    }
    return before;
}

Result<void> CounterClient::connect() {
    if (socket_.number() >= 0) return {};
    auto connected = Connecting(place_).run(Clock::now() + limits_.connect);
    if (!connected)
        return Error::make(
            ErrorKind::unsupported_operation,
            "no connection to rank 0 at " +
                text_of(place_.addresses[0], static_cast<std::uint16_t>(place_.port)) +
                " for the shared pointer: check firewalls or use collective calls",
            connected.error().system_errno);
    socket_ = std::move(*connected);
    return {};
}

Result<std::int64_t> CounterClient::request(CounterOperation operation, std::int64_t operand) {
    const auto until = Clock::now() + limits_.reply;
    std::array<std::byte, 16> words{};
    std::ranges::copy(to_word(static_cast<std::uint64_t>(operation)), words.begin());
    std::ranges::copy(to_word(static_cast<std::uint64_t>(operand)), words.begin() + 8);
    Word before{};
    auto done = socket_.send(words, until);
    if (done) done = socket_.receive(before, until);
    if (!done)
        return Error::make(ErrorKind::io, "rank 0 no longer answers for the shared file pointer",
                           done.error().system_errno);
    return static_cast<std::int64_t>(from_word(before));
}

}  // namespace oratorio
