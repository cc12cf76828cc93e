// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include "base/served_counter.hpp"

namespace oratorio {

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
    auto connected = connect_to(place_, Socket::Clock::now() + limits_.connect);
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
    const auto until = Socket::Clock::now() + limits_.reply;
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
