// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/remote_agents.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace oratorio {

namespace {

constexpr int kSilenceAgain = 1000;  // milliseconds between checks whether an agent still answers

std::span<const std::byte> bytes_of(const RequestHead& head) {
    return std::as_bytes(std::span(&head, 1));
}

/// Returns the next unsent bytes of a request after `sent` bytes: of its head, description or data.
std::span<const std::byte> left_of(const Shipment& shipment, std::size_t sent) {
    const bool is_shared = shipment.head.is_shared();
    const std::span<const std::byte> none;
    const auto description = is_shared ? none : shipment.description;
    const auto data = is_shared || shipment.head.writes == 0 ? none : shipment.data;
    for (const auto part : {bytes_of(shipment.head), description, data}) {
        if (sent < part.size()) return part.subspan(sent);
        sent -= part.size();
    }
    return {};
}

Error gone(int system_errno) {
    return Error::make(ErrorKind::io, "an agent no longer answers", system_errno);
}

}  // namespace

Result<std::unique_ptr<RemoteAgents>> RemoteAgents::connect(std::span<const ServiceAddress> places,
                                                            Bytes block, Bytes shipment_max,
                                                            const AgentLimits& limits) {
    const Binding binding{block, static_cast<int>(places.size())};
    std::unique_ptr<RemoteAgents> agents(new RemoteAgents(binding, shipment_max, limits));
    const auto until = Socket::Clock::now() + limits.connect;
    for (const ServiceAddress& address : places) {
        auto socket = connect_to(address, until);
        if (!socket)
            return Error::make(
                ErrorKind::unsupported_operation,
                "no connection to an agent at " +
                    text_of(address.addresses[0], static_cast<std::uint16_t>(address.port)) +
                    ": check firewalls",
                socket.error().system_errno);
        socket->tell_of_silence();
        Way& way = agents->ways_.emplace_back();
        way.socket = std::move(*socket);
        way.service = address.service;
    }
    return agents;
}

bool RemoteAgents::ship(const Shipment& shipment) {
    Way& way = ways_[static_cast<std::size_t>(shipment.agent)];
    Shipment& mine = way.sending.emplace_back(shipment);
    mine.head.service = way.service;
    if (way.is_beside) share(mine);
    const bool is_shared = mine.head.is_shared();
    if (way.failed) {
        fail(way, Error(*way.failed));
    } else if (const auto sent = send_some(way); !sent) {
        fail(way, gone(sent.error().system_errno));
    }
    return is_shared;
}

std::size_t RemoteAgents::reap(std::span<ReplyHead> out) {
    while (done_.empty() && wait()) {
    }
    std::size_t count = 0;
    for (; count < out.size() && !done_.empty(); done_.pop_front()) out[count++] = done_.front();
    return count;
}

/// Sets the offsets of description and data in the head, if both lie in memory that the agent
/// shares. Only the head is then sent.
void RemoteAgents::share(Shipment& shipment) const {
    const auto described_at = buffers_.place_of(shipment.description);
    const auto data_at = buffers_.place_of(shipment.data);
    if (!described_at || !data_at) return;
    shipment.head.described_at = *described_at;
    shipment.head.data_at = *data_at;
    buffers_.fence();
}

/// Sends as much of the queued requests as the socket takes.
Result<void> RemoteAgents::send_some(Way& way) const {
    while (!way.sending.empty()) {
        const auto left = left_of(way.sending.front(), way.sent);
        if (left.empty()) {
            way.awaited.push_back(way.sending.front());
            way.sending.pop_front();
            way.sent = 0;
            continue;
        }
        const auto sent = way.socket.send_some(left);
        if (!sent) return Socket::would_wait(sent.error()) ? Result<void>() : sent.error();
        way.sent += *sent;
    }
    return {};
}

/// Receives the replies, or parts of them, that have arrived.
Result<void> RemoteAgents::hear_some(Way& way) {
    constexpr std::size_t kHead = sizeof(ReplyHead);
    for (;;) {
        const auto head = std::as_writable_bytes(std::span(&way.reply, 1));
        const auto left =
            way.heard < kHead ? head.subspan(way.heard) : way.data.subspan(way.heard - kHead);
        const auto heard = way.socket.receive_some(left);
        if (!heard) return Socket::would_wait(heard.error()) ? Result<void>() : heard.error();
        way.heard += *heard;
        if (way.heard == kHead) {
            if (auto begun = begin_reply(way); !begun) return begun;
        }
        if (way.heard == kHead + way.data.size()) finish_reply(way);
    }
}

/// Prepares to receive the data of a reply, once its head is complete. Refuses a reply that belongs
/// to no outstanding request or has another length than requested.
Result<void> RemoteAgents::begin_reply(Way& way) const {
    const auto asked = std::ranges::find(way.awaited, way.reply.number,
                                         [](const Shipment& each) { return each.head.number; });
    const bool known = asked != way.awaited.end();
    const bool good = known && way.reply.error.kind == ErrorKind::none;
    if (!known || way.reply.data != (good ? asked->head.sent_back() : 0)) {
        way.heard = 0;
        return gone(EPROTO);
    }
    way.data = way.reply.data > 0 ? asked->data : std::span<std::byte>{};
    if (asked->head.is_shared()) buffers_.fence();
    way.awaited.erase(asked);
    return {};
}

void RemoteAgents::finish_reply(Way& way) {
    done_.push_back(way.reply);
    way.heard = 0;
    way.data = {};
}

/// Fails all outstanding and all later requests to the agent.
void RemoteAgents::fail(Way& way, const Error& error) {
    way.failed = error;
    way.socket = Socket();
    if (way.heard >= sizeof(ReplyHead)) {
        way.reply.error = error;
        finish_reply(way);
    }
    for (const Shipment& each : way.awaited)
        done_.push_back({.number = each.head.number, .error = error});
    for (const Shipment& each : way.sending)
        done_.push_back({.number = each.head.number, .error = error});
    way.awaited.clear();
    way.sending.clear();
    way.sent = way.heard = 0;
}

void RemoteAgents::advance(Way& way, const pollfd& ready) {
    Result<void> moved;
    if ((ready.revents & POLLOUT) != 0) moved = send_some(way);
    if (moved && (ready.revents & ~POLLOUT) != 0) moved = hear_some(way);
    if (moved && ready.revents == 0 && way.socket.is_unanswered(limits_.silence))
        moved = gone(ETIMEDOUT);
    if (!moved) fail(way, gone(moved.error().system_errno));
}

/// Waits for events on the connections with outstanding requests, for a second at most, and handles
/// them. Fails the requests to an agent that no longer answers. Returns false if nothing is
/// outstanding.
bool RemoteAgents::wait() {
    std::vector<pollfd> watched;
    std::vector<Way*> waited;
    for (Way& way : ways_) {
        const bool sends = !way.sending.empty();
        if (!sends && way.awaited.empty() && way.heard == 0) continue;
        watched.push_back(
            {way.socket.number(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0});
        waited.push_back(&way);
    }
    if (waited.empty()) return false;
    const auto slice = static_cast<int>(limits_.silence.count() / 2 + 1);
    ::poll(watched.data(), watched.size(), std::min(kSilenceAgain, slice));
    for (std::size_t i = 0; i < waited.size(); ++i) advance(*waited[i], watched[i]);
    return true;
}

}  // namespace oratorio
