// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/messages/rounds.hpp"

namespace oratorio {

Result<void> ReceiveQueue::post(std::span<std::byte> buffer) {
    const auto ticket = transport_->receive(kAnyRank, tag_, buffer);
    if (!ticket) return ticket.error();
    queue_.push_back({*ticket, buffer});
    return {};
}

Result<ReceiveQueue::Received> ReceiveQueue::take() {
    if (queue_.empty()) return Received{};
    const auto completion = transport_->test(queue_.front().ticket);
    if (!completion) return completion.error();
    if (!completion->done) return Received{};
    const Received received{completion->source, queue_.front().buffer};
    queue_.pop_front();
    return received;
}

}  // namespace oratorio
