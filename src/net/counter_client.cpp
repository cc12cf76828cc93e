// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "net/served_counter.hpp"

namespace oratorio {

namespace {

/// Maximum number of times that a request is sent. The server may close a connection, to make room
/// for another client, just before the request arrives.
constexpr int kTries = 8;

std::array<std::byte, kCounterRequest> words_of(const CounterRequest& request) {
    std::array<std::byte, kCounterRequest> words{};
    auto at = words.begin();
    for (const std::uint64_t word :
         {static_cast<std::uint64_t>(request.operation), request.counter,
          static_cast<std::uint64_t>(request.operand), request.client, request.number})
        at = std::ranges::copy(to_word(word), at).out;
    return words;
}

bool is_over(const Error& error) {
    return error.system_errno == ECONNRESET || error.system_errno == EPIPE;
}

}  // namespace

Result<std::int64_t> CounterConnection::ask(const CounterRequest& request) {
    const std::lock_guard lock(mutex_);
    if (has_failed_) return failure_;
    const auto reply = exchange(words_of(request));
    if (!reply) {
        failure_ = describe(reply.error());
        has_failed_ = true;
        return failure_;
    }
    const std::span words(*reply);
    if (from_word(words.first(8)) != kServed)
        return Error::make(ErrorKind::io, "rank 0 no longer has the shared file pointer");
    return static_cast<std::int64_t>(from_word(words.last(8)));
}

Result<CounterConnection::Reply> CounterConnection::exchange(const Words& request) {
    const auto until = Socket::Clock::now() + limits_.reply;
    for (int left = kTries;; --left) {
        if (auto ready = connect(); !ready) return ready.error();
        Reply reply{};
        auto done = socket_.send(request, until);
        if (done) done = socket_.receive(reply, until);
        if (done) return reply;
        socket_ = Socket();
        if (!is_over(done.error()) || left == 1) return done.error();
    }
}

Result<void> CounterConnection::connect() {
    if (socket_.number() >= 0) return {};
    auto connected = connect_to(address_, Socket::Clock::now() + limits_.connect);
    if (!connected) return connected.error();
    socket_ = std::move(*connected);
    was_connected_ = true;
    return {};
}

Error CounterConnection::describe(const Error& failure) const {
    if (was_connected_)
        return Error::make(ErrorKind::io,
                           "rank 0's server of the shared file pointer no longer answers",
                           failure.system_errno);
    return Error::make(
        ErrorKind::unsupported_operation,
        "no connection to rank 0 at " +
            text_of(address_.addresses[0], static_cast<std::uint16_t>(address_.port)) +
            "; check firewalls, or use collective calls",
        failure.system_errno);
}

Result<void> CounterClient::set(std::int64_t to) {
    const auto before = ask(CounterOperation::set, to);
    return before ? Result<void>() : before.error();
}

}  // namespace oratorio
