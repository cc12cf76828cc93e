// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "exchange/messages/peer.hpp"

namespace oratorio {

namespace {

Rank local_aggregator_of(const PeerContext& context) {
    const Rank local = context.plan.layers().local_aggregator_of(context.rank());
    return local == context.rank() ? -1 : local;
}

/// Returns the regions that this rank sends messages about. A rank with a local aggregator visits
/// them in the order of the local aggregator, or sends no messages at all if the group shares
/// windows.
RankRegions regions_of(const PeerContext& context) {
    const Plan& plan = context.plan;
    const Rank local = local_aggregator_of(context);
    if (local < 0) return plan.regions_of(context.rank());
    if (plan.layers().in_windows()) return plan.no_regions();
    return {plan, local, plan.ranks, plan.ranks.find(context.rank())};
}

}  // namespace

ParticipantSide::ParticipantSide(PeerContext& context)
    : context_(context),
      reading_(context.plan.direction == Direction::read),
      local_(local_aggregator_of(context)),
      regions_(regions_of(context)),
      announced_(context.plan.asks_contents() ? regions_ : context.plan.no_regions()) {}

Result<Step> ParticipantSide::step(AggregatorSide& own) {
    const auto announced = announce();
    if (!announced) return announced.error();
    const auto reaped = reap_outgoing();
    if (!reaped) return reaped.error();
    const auto handed = hand_over(own);
    if (!handed) return handed.error();
    return progressed_if(any_progressed({*announced, *reaped, *handed}));
}

Result<Step> ParticipantSide::announce() {
    bool moved = false;
    for (std::size_t i = 0; i < announcements_.size();) {
        const auto sent = context_.transport.test(announcements_[i].ticket);
        if (!sent) return sent.error();
        if (!sent->done) {
            ++i;
            continue;
        }
        context_.buffers.give_back(announcements_[i].message);
        announcements_.erase(announcements_.begin() + static_cast<std::ptrdiff_t>(i));
        moved = true;
    }
    // Announce up to one round ahead per slot, so that an aggregator learns what to load while the
    // previous round is exchanged.
    const auto in_flight_max = static_cast<std::size_t>(context_.plan.messages_in_flight);
    while (!announced_.at_end() && announced_.round() <= regions_.round() + context_.plan.slots &&
           announcements_.size() < in_flight_max) {
        const Rank to = partner(announced_);
        if (to != context_.rank()) {
            if (context_.buffers.free() == 0) return progressed_if(moved);
            const auto contents = context_.runs.contents(announced_.region());
            if (!contents) return progressed_if(moved);
            const auto message = context_.buffers.take();
            std::memcpy(message.data(), &*contents, sizeof *contents);
            const auto ticket =
                context_.transport.send(to, tag(announced_.round(), MessageKind::contents),
                                        message.first(sizeof *contents));
            if (!ticket) return ticket.error();
            announcements_.push_back({*ticket, message});
            count_sent(sizeof *contents, to);
        }
        announced_.advance();
        moved = true;
    }
    return progressed_if(moved);
}

Result<Step> ParticipantSide::reap_outgoing() {
    bool moved = false;
    for (std::size_t i = 0; i < outgoing_.size();) {
        const auto finished = finish(outgoing_[i]);
        if (!finished) return finished.error();
        if (*finished != Step::done) {
            ++i;
            continue;
        }
        outgoing_.erase(outgoing_.begin() + static_cast<std::ptrdiff_t>(i));
        moved = true;
    }
    return progressed_if(moved);
}

Result<Step> ParticipantSide::finish(Outgoing& outgoing) {
    if (outgoing.leaving) {
        const auto sent = context_.transport.test(outgoing.sent);
        if (!sent) return sent.error();
        if (!sent->done) return Step::idle;
        if (!outgoing.message.empty()) context_.buffers.give_back(outgoing.message);
        outgoing.leaving = false;
    }
    if (goes_straight()) return finish_straight(outgoing);
    if (!reading_) {
        context_.runs.sent(outgoing.chunk);
        return Step::done;
    }
    const auto replied = context_.transport.test(outgoing.replied);
    if (!replied) return replied.error();
    if (!replied->done) return Step::idle;
    MessageHead head;
    std::memcpy(&head, outgoing.reply.data(), sizeof head);
    const bool sound = head.payload >= 0 && head.payload <= outgoing.chunk.payload;
    if (!sound && failed_.kind == ErrorKind::none) failed_ = damaged_message(outgoing.round);
    const std::size_t bytes = sound ? static_cast<std::size_t>(head.payload) : 0;
    unpack(outgoing.chunk, outgoing.reply.subspan(sizeof head, bytes));
    if (outgoing.chunk.place.empty()) context_.buffers.give_back(outgoing.reply);
    return Step::done;
}

Result<Step> ParticipantSide::finish_straight(Outgoing& outgoing) {
    const auto moved = context_.transport.test(reading_ ? outgoing.replied : outgoing.zero_copy);
    if (!moved) return moved.error();
    if (moved->done) received_ += moved->bytes;
    return done_if(moved->done);
}

Result<Step> ParticipantSide::hand_over(AggregatorSide& own) {
    bool moved = false;
    const auto in_flight_max = static_cast<std::size_t>(context_.plan.messages_in_flight);
    while (!regions_.at_end()) {
        if (partner(regions_) == context_.rank()) {
            const std::int64_t round = regions_.round();
            if (!own.is_open(round)) break;
            const Copied copied = own.serve_own(round);
            if (reading_) received_ += copied.bytes;
            if (!copied.last) break;
            regions_.advance();
            // Return, so that a complete round is stored before further data is copied.
            if (own.is_served(round)) return Step::progressed;
        } else {
            // A read needs one buffer for the request and one for the reply.
            if (outgoing_.size() >= in_flight_max || context_.buffers.free() < 2 ||
                !context_.runs.ready(regions_.region()))
                break;
            const auto sent = send_chunk(context_.buffers.take());
            if (!sent) return sent.error();
        }
        moved = true;
    }
    return progressed_if(moved);
}

/// Writes the next chunk as a message: head, run table and, in packed writes, the payload. If a
/// write's chunk has a `place`, the head and the table are put in front of it, and the message is
/// sent from there.
MessageView ParticipantSide::fill(std::span<std::byte> message) {
    const Region region = regions_.region();
    const std::size_t table_bytes =
        context_.runs.next(region, message.subspan(sizeof(MessageHead)), chunk_);
    const MessageHead head{regions_.round(), region.begin, chunk_.payload,
                           static_cast<std::int32_t>(table_bytes), chunk_.last ? 1 : 0};
    std::memcpy(message.data(), &head, sizeof head);
    if (!reading_ && !chunk_.place.empty()) {
        const std::size_t before = sizeof head + table_bytes;
        std::byte* const first = chunk_.place.data() - before;
        std::memcpy(first, message.data(), before);
        return view_message({first, before + chunk_.place.size()}, true);
    }
    const bool packs = !reading_ && !goes_straight();
    const MessageView view = view_message(message, packs);
    if (packs) {
        const Timing timing(&context_.stats, &Stats::copy_time);
        context_.runs.pack(chunk_, view.payload);
    }
    return view;
}

/// Returns the buffer for a packed reply.
std::span<std::byte> ParticipantSide::place_of_reply() {
    if (chunk_.place.empty()) return context_.buffers.take();
    std::byte* const first = chunk_.place.data() - sizeof(MessageHead);
    return {first, sizeof(MessageHead) + chunk_.place.size()};
}

Result<void> ParticipantSide::receive_reply(Rank to, Outgoing& outgoing) {
    ReceiveMemory into(chunk_.pieces);
    if (!goes_straight()) into = outgoing.reply = place_of_reply();
    const auto ticket =
        context_.transport.receive(to, tag(regions_.round(), MessageKind::reply), into);
    if (!ticket) return ticket.error();
    outgoing.replied = *ticket;
    return {};
}

/// Counts the table message that was just sent (zero-copy) and, in a write, sends the data that it
/// describes.
Result<void> ParticipantSide::send_straight(Rank to, Outgoing& outgoing) {
    context_.stats.table_messages += 1;
    if (reading_) return {};
    const auto ticket =
        context_.transport.send(to, tag(outgoing.round, MessageKind::reply), chunk_.pieces);
    if (!ticket) return ticket.error();
    outgoing.zero_copy = *ticket;
    count_sent(static_cast<std::size_t>(chunk_.pieces.bytes), to);
    return {};
}

Result<void> ParticipantSide::send_chunk(std::span<std::byte> message) {
    const Rank to = partner(regions_);
    const Bytes most = local_ >= 0 ? context_.plan.layers().message_bytes() : std::ssize(message);
    const MessageView view = fill(message.first(static_cast<std::size_t>(most)));
    Outgoing outgoing;
    if (reading_) {
        const auto posted = receive_reply(to, outgoing);
        if (!posted) return posted;
    }
    const bool in_place = !reading_ && !chunk_.place.empty();
    const std::size_t bytes = sizeof view.head + view.table.size() + view.payload.size();
    const std::span whole(view.table.data() - sizeof view.head, bytes);
    const auto ticket = context_.transport.send(to, tag(view.head.round, MessageKind::data), whole);
    if (!ticket) return ticket.error();
    outgoing.round = view.head.round;
    outgoing.sent = *ticket;
    outgoing.chunk = chunk_;
    if (in_place) {
        context_.buffers.give_back(message);
    } else {
        outgoing.message = message;
    }
    count_sent(bytes, to);
    if (goes_straight()) {
        if (auto moved = send_straight(to, outgoing); !moved) return moved;
    }
    outgoing_.push_back(std::move(outgoing));
    if (chunk_.last) regions_.advance();
    return {};
}

void ParticipantSide::count_sent(std::size_t bytes, Rank to) {
    context_.stats.count_message(bytes, context_.transport.topology().on_other_switch(to));
    if (local_ >= 0) context_.stats.local_messages += 1;
}

void ParticipantSide::unpack(const Chunk& chunk, std::span<const std::byte> payload) {
    const Timing timing(&context_.stats, &Stats::copy_time);
    received_ += context_.runs.unpack(chunk, payload);
}

}  // namespace oratorio
