// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/connection.hpp"

#include <poll.h>

#include <cerrno>
#include <utility>

namespace oratorio {

namespace {

constexpr std::size_t kHead = sizeof(RequestHead);

}  // namespace

AgentConnection::~AgentConnection() {
    buffers_.give_back(buffer_);
    for (const Reply& each : replies_) buffers_.give_back(each.buffer);
}

std::span<const std::byte> AgentConnection::Reply::left() const {
    const auto first = std::as_bytes(std::span(&head, 1));
    return sent < first.size() ? first.subspan(sent) : data.subspan(sent - first.size());
}

short AgentConnection::events() {
    const std::lock_guard hold(sending_);
    const int out = replies_.empty() ? 0 : POLLOUT;
    return static_cast<short>((waits_for_buffer_ && !buffers_.has_free() ? 0 : POLLIN) | out);
}

AgentConnection::Receipt AgentConnection::receive(Request& request) {
    for (;;) {
        if (filled_ == kHead && buffer_.empty()) {
            if (!accept_head()) return Receipt::over;
            if (head_.is_shared()) {
                request = {head_, {}, {}, {}};
                filled_ = 0;
                return Receipt::whole;
            }
            buffer_ = buffers_.take();
            waits_for_buffer_ = buffer_.empty();
            if (waits_for_buffer_) return Receipt::waits;
        }
        if (filled_ >= kHead && filled_ == kHead + head_.sent()) break;
        const auto left =
            filled_ < kHead
                ? std::as_writable_bytes(std::span(&head_, 1)).subspan(filled_)
                : buffer_.first(static_cast<std::size_t>(head_.sent())).subspan(filled_ - kHead);
        const auto got = socket_.receive_some(left);
        if (!got) return Socket::would_wait(got.error()) ? Receipt::waits : Receipt::over;
        filled_ += *got;
        moved_ = Socket::Clock::now();
    }
    const std::span<std::byte> buffer = std::exchange(buffer_, {});
    request = {head_, buffer.first(head_.described), buffer.subspan(head_.described, head_.data),
               buffer};
    filled_ = 0;
    return Receipt::whole;
}

/// Returns true if the head is valid and the request fits into a buffer.
bool AgentConnection::accept_head() const {
    const std::size_t most = buffers_.bytes();
    const bool known =
        head_.description == Description::list || head_.description == Description::layout;
    return known && head_.described <= most && head_.data <= most - head_.described;
}

bool AgentConnection::send_replies() {
    const std::lock_guard hold(sending_);
    moved_ = Socket::Clock::now();
    return send_all();
}

/// Sends as much of the queued replies as the socket takes; the rest stays queued. Returns false if
/// the connection has ended.
bool AgentConnection::send_all() {
    while (!over_ && !replies_.empty()) {
        Reply& first = replies_.front();
        const auto sent = socket_.send_some(first.left());
        if (!sent && Socket::would_wait(sent.error())) return true;
        over_ = !sent;
        if (sent) first.sent += *sent;
        if (!over_ && !first.left().empty()) continue;
        buffers_.give_back(first.buffer);
        replies_.pop_front();
    }
    return !over_;
}

bool AgentConnection::is_stuck(Socket::Clock::time_point since) {
    const std::lock_guard hold(sending_);
    return (!buffer_.empty() || !replies_.empty()) && moved_ < since;
}

bool AgentConnection::reply(const Request& request, const ReplyHead& head) {
    const bool has_data = head.data > 0;
    if (!has_data) buffers_.give_back(request.buffer);
    const std::lock_guard hold(sending_);
    replies_.push_back({.head = head,
                        .buffer = has_data ? request.buffer : std::span<std::byte>{},
                        .data = has_data ? request.data : std::span<std::byte>{}});
    (void)send_all();
    return !replies_.empty();
}

}  // namespace oratorio
