// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "exchange/messages/payload_copy.hpp"
#include "exchange/messages/peer.hpp"

namespace oratorio {

AggregatorSide::AggregatorSide(PeerContext& context)
    : context_(context),
      index_(context.plan.aggregator_index(context.rank())),
      own_(context.plan.graph.find(context.rank())),
      more_receives_max_(more_receives_max(context)),
      zero_copy_(context.transport, context.plan, context.stats, context.lists) {}

/// Returns how many receives may be posted at once besides the first one of each round. They leave
/// buffers for this rank's participant side, and in a read one more: if none were left for a reply,
/// this rank would serve nobody until others serve its own requests, and they may wait for its
/// replies.
std::int64_t AggregatorSide::more_receives_max(const PeerContext& context) {
    const Plan& plan = context.plan;
    const bool reads = plan.direction == Direction::read;
    const auto buffers = static_cast<std::int64_t>(context.buffers.free());
    return buffers - context.participant_buffers_max() - (reads ? 1 : 0) - plan.slots;
}

/// Returns the number of receives that are posted besides the first one of each round.
std::int64_t AggregatorSide::more_receives() const {
    std::int64_t more = 0;
    for (const auto& [number, round] : open_)
        more += std::max<std::int64_t>(0, round.queue.posted() - 1);
    return more;
}

bool AggregatorSide::has_own(std::int64_t round) const {
    return context_.plan.takes_part(own_, index_, round);
}

/// Returns the number of ranks that send messages for the round. This rank isn't counted.
std::int64_t AggregatorSide::senders_in(std::int64_t round) const {
    return context_.plan.count_participants(index_, round) - (has_own(round) ? 1 : 0);
}

void AggregatorSide::expect(std::int64_t round) {
    Expected expected{ReceiveQueue(context_.transport, context_.tag(round, MessageKind::contents)),
                      context_.plan.region(index_, round),
                      senders_in(round),
                      has_own(round),
                      {}};
    add_own(expected);
    expected_.emplace(round, std::move(expected));
}

bool AggregatorSide::add_own(Expected& expected) {
    if (!expected.own) return false;
    const auto contents = context_.runs.contents(expected.region);
    if (!contents) return false;
    expected.contents.add(*contents);
    expected.own = false;
    return true;
}

std::optional<RoundContents> AggregatorSide::contents(std::int64_t round) const {
    const auto found = expected_.find(round);
    if (found == expected_.end() || found->second.senders > 0 || found->second.own)
        return std::nullopt;
    return found->second.contents;
}

void AggregatorSide::open(std::int64_t round, const RoundBuffer& buffer, Offset valid_until) {
    const Region region = context_.plan.region(index_, round);
    OpenRound opened{ReceiveQueue(context_.transport, context_.tag(round, MessageKind::data)),
                     region,
                     buffer,
                     valid_until,
                     senders_in(round),
                     has_own(round),
                     0};
    expected_.erase(round);
    const auto place = open_.emplace(round, std::move(opened)).first;
    const auto posted = post_receives(place->second);
    if (!posted) deferred_ = posted.error();
}

/// Posts a receive only if some sender will certainly send another message, so that no receive is
/// ever left over.
Result<void> AggregatorSide::post_receives(OpenRound& round) {
    const std::int64_t wanted =
        std::min<std::int64_t>(round.senders, context_.plan.messages_in_flight);
    while (round.queue.posted() < wanted) {
        if (round.queue.posted() > 0 && more_receives() >= more_receives_max_) break;
        const auto buffer = context_.buffers.take();
        if (buffer.empty()) break;
        auto posted = round.queue.post(buffer);
        if (!posted) return posted;
    }
    return {};
}

Result<Step> AggregatorSide::step() {
    if (deferred_.kind != ErrorKind::none) return deferred_;
    auto moved = zero_copy_.used() ? reap_straight() : reap_replies();
    if (!moved) return moved;
    for (auto& [round, expected] : expected_) {
        const auto stepped = step_expected(expected);
        if (!stepped) return stepped;
        if (*stepped == Step::progressed) moved = stepped;
    }
    for (auto& [round, open] : open_) {
        const auto stepped = step_open(round, open);
        if (!stepped) return stepped;
        if (*stepped == Step::idle) continue;
        moved = stepped;
        // Return, so that a complete round is stored before messages of later rounds are served.
        if (open.senders == 0) break;
    }
    return moved;
}

Result<Step> AggregatorSide::step_expected(Expected& expected) {
    bool moved = add_own(expected);
    while (expected.senders > 0) {
        if (expected.queue.posted() == 0) {
            const auto buffer = context_.buffers.take();
            if (buffer.empty()) break;
            const auto posted = expected.queue.post(buffer);
            if (!posted) return posted.error();
        }
        const auto received = expected.queue.take();
        if (!received) return received.error();
        if (received->buffer.empty()) break;
        RoundContents contents;
        std::memcpy(&contents, received->buffer.data(), sizeof contents);
        context_.buffers.give_back(received->buffer);
        expected.contents.add(contents);
        --expected.senders;
        moved = true;
    }
    return progressed_if(moved);
}

Result<Step> AggregatorSide::step_open(std::int64_t number, OpenRound& round) {
    bool moved = false;
    for (;;) {
        const auto posted = post_receives(round);
        if (!posted) return posted.error();
        // A reply needs a buffer of its own: leave the request in the queue until one is free.
        if (context_.plan.direction == Direction::read && context_.buffers.free() == 0) break;
        if (zero_copy_.full()) break;
        const auto received = round.queue.take();
        if (!received) return received.error();
        if (received->buffer.empty()) break;
        const auto served = serve(number, round, received->source, received->buffer);
        if (!served) return served.error();
        moved = true;
    }
    return progressed_if(moved);
}

/// Serves a message of a participant. A damaged message is served as one without data, so that its
/// sender can continue.
Result<void> AggregatorSide::serve(std::int64_t number, OpenRound& round, Rank source,
                                   std::span<std::byte> buffer) {
    const bool reading = context_.plan.direction == Direction::read;
    MessageView message = view_message(buffer, !reading && !zero_copy_.used());
    bool sound = !message.damaged;
    if (message.head.last != 0) --round.senders;
    if (zero_copy_.used()) return serve_straight(number, round, source, message, buffer);
    if (message.head.begin != round.region.begin) {  // the message's runs belong to another region
        differs_ = true;
        message.table = message.payload = {};
    }
    if (!reading) {
        sound = place(round, message) && sound;
        context_.buffers.give_back(buffer);
        if (!sound) note_damage(number);
        return {};
    }
    const auto answer = context_.buffers.take();
    MessageHead head = message.head;
    const auto fetched = fetch(round, message, answer.subspan(sizeof head));
    if (!sound || !fetched) note_damage(number);
    head.payload = fetched.value_or(0);
    context_.buffers.give_back(buffer);
    return reply(number, source, head, answer);
}

Result<void> AggregatorSide::serve_straight(std::int64_t number, OpenRound& round, Rank source,
                                            const MessageView& message,
                                            std::span<std::byte> buffer) {
    const ZeroCopyRound where{number, context_.tag(number, MessageKind::reply), round.region,
                              round.buffer, round.valid_until};
    const bool same = message.head.begin == round.region.begin;
    if (!same) differs_ = true;
    if (!same || message.damaged) {
        round.spoiled = true;
        if (message.damaged) note_damage(number);
        return zero_copy_.drop(where, source, buffer);
    }
    const auto started =
        zero_copy_.start(where, source, buffer, message.table, message.head.payload);
    if (!started) return started.error();
    if (!*started) {
        round.spoiled = true;
        note_damage(number);
    }
    return {};
}

Result<Step> AggregatorSide::reap_straight() {
    bool moved = false;
    for (;;) {
        const auto done = zero_copy_.take();
        if (!done) return done.error();
        if (done->round < 0) return progressed_if(moved);
        context_.buffers.give_back(done->buffer);
        open_.at(done->round).bytes += done->bytes;
        if (!done->sound) note_damage(done->round);
        moved = true;
    }
}

Result<void> AggregatorSide::reply(std::int64_t number, Rank to, const MessageHead& head,
                                   std::span<std::byte> buffer) {
    std::memcpy(buffer.data(), &head, sizeof head);
    const std::size_t bytes = sizeof head + static_cast<std::size_t>(head.payload);
    const auto ticket =
        context_.transport.send(to, context_.tag(number, MessageKind::reply), buffer.first(bytes));
    if (!ticket) return ticket.error();
    replies_.push_back({*ticket, buffer});
    context_.stats.count_message(bytes, context_.transport.topology().on_other_switch(to));
    return {};
}

void AggregatorSide::note_damage(std::int64_t round) {
    if (failed_.kind == ErrorKind::none) failed_ = damaged_message(round);
}

bool AggregatorSide::place(OpenRound& round, const MessageView& message) {
    const Timing timing(&context_.stats, &Stats::copy_time);
    const bool sound = place_runs(message.table, message.payload, round.region, round.buffer);
    round.bytes += std::ssize(message.payload);
    context_.stats.bytes_placed += message.payload.size();
    return sound;
}

std::optional<Bytes> AggregatorSide::fetch(const OpenRound& round, const MessageView& message,
                                           std::span<std::byte> into) {
    const Timing timing(&context_.stats, &Stats::copy_time);
    const auto there =
        fetch_runs(message.table, into, round.region, round.buffer.data, round.valid_until);
    context_.stats.bytes_placed += static_cast<std::uint64_t>(there.value_or(0));
    return there;
}

Copied AggregatorSide::serve_own(std::int64_t round) {
    OpenRound& open = open_.at(round);
    std::byte* const mask = open.buffer.mask.empty() ? nullptr : open.buffer.mask.data();
    const Copied copied =
        context_.runs.copy(open.region, open.buffer.data.data(), mask, open.valid_until);
    open.own = !copied.last;
    open.bytes += copied.bytes;
    return copied;
}

Result<Step> AggregatorSide::reap_replies() {
    bool moved = false;
    for (std::size_t i = 0; i < replies_.size();) {
        const auto sent = context_.transport.test(replies_[i].ticket);
        if (!sent) return sent.error();
        if (!sent->done) {
            ++i;
            continue;
        }
        context_.buffers.give_back(replies_[i].buffer);
        replies_[i] = replies_.back();
        replies_.pop_back();
        moved = true;
    }
    return progressed_if(moved);
}

bool AggregatorSide::close_if_served(std::int64_t round, Bytes& held) {
    const auto found = open_.find(round);
    if (found == open_.end() || !found->second.is_served()) return false;
    if (zero_copy_.moves_in(round)) return false;
    held = found->second.bytes;
    if (found->second.spoiled) {  // it is unknown which bytes of the buffer are valid
        held = 0;
        std::ranges::fill(found->second.buffer.mask, std::byte{0});
    }
    open_.erase(found);
    return true;
}

}  // namespace oratorio
