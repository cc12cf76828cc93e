// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/two_layer/group_member.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/messages/payload_copy.hpp"

namespace oratorio {

namespace {

Extent whole(const Region& region) {
    return {region.begin, region.begin + (region.count - 1) * region.stride + region.length};
}

/// Returns the regions of one rank of the group, in the order in which its local aggregator (this
/// rank) visits the aggregators: each round begins with first_aggregator() of the local aggregator,
/// not of `rank`. Returns no regions if `none` is set.
RankRegions regions_of(const GroupContext& context, Rank rank, bool none = false) {
    const Plan& plan = context.plan;
    if (none) return plan.no_regions();
    return {plan, context.rank(), plan.ranks, plan.ranks.find(rank)};
}

}  // namespace

GroupMember::GroupMember(GroupContext& context, Rank rank, std::span<std::byte> memory)
    : context_(context),
      rank_(rank),
      hull_(context.plan.ranks.hull_of(rank)),
      coming_(regions_of(context, rank, is_own())),
      after_(coming_),
      at_(regions_of(context, rank)),
      reader_({}, {}),
      told_(regions_of(context, rank, is_own() || !context.plan.asks_contents())) {
    if (!after_.at_end()) after_.advance();
    const auto each = static_cast<std::size_t>(context.plan.layers().message_bytes());
    for (Message& message : messages_) {
        message.buffer = memory.first(each);
        memory = memory.subspan(each);
        if (!context.reading()) continue;
        message.reply = memory.first(each);
        memory = memory.subspan(each);
    }
    stand_at_region();
}

void GroupMember::stand_at_region() {
    begin_ = at_.at_end() ? INT64_MIN : at_.region().begin;
    ended_ = false;
}

bool GroupMember::idle() const {
    return std::ranges::all_of(messages_,
                               [](const Message& one) { return one.state == State::free; });
}

Result<Step> GroupMember::step() {
    bool moved = false;
    for (const auto part : {&GroupMember::send_answers, &GroupMember::receive, &GroupMember::post,
                            &GroupMember::receive_told}) {
        const auto stepped = (this->*part)();
        if (!stepped) return stepped;
        moved = moved || *stepped == Step::progressed;
    }
    return progressed_if(moved);
}

/// Posts receives only while a message will certainly arrive, so that no receive is left over: one
/// receive while messages of the region coming_ are still to arrive, and a second one only if the
/// member has another region after it.
Result<Step> GroupMember::post() {
    bool moved = false;
    for (;;) {
        Message& message = messages_[static_cast<std::size_t>(posted_)];
        const bool second = posted_ != arriving_;
        if (message.state != State::free || (second ? after_ : coming_).at_end())
            return progressed_if(moved);
        const auto ticket = context_.transport.receive(
            rank_, roundless_tag_of(context_.sequence, MessageKind::data), message.buffer);
        if (!ticket) return ticket.error();
        message.ticket = *ticket;
        message.state = State::coming;
        posted_ = (posted_ + 1) % messages_max;
        moved = true;
    }
}

Result<Step> GroupMember::receive() {
    bool moved = false;
    for (;;) {
        Message& message = messages_[static_cast<std::size_t>(arriving_)];
        if (message.state != State::coming) return progressed_if(moved);
        const auto received = context_.transport.test(message.ticket);
        if (!received) return received.error();
        if (!received->done) return progressed_if(moved);
        accept(message);
        arriving_ = (arriving_ + 1) % messages_max;
        moved = true;
    }
}

/// Accepts a message that has arrived. A message that is damaged, or for a different region than
/// the plan's, is treated as one without data, so that its sender can continue.
void GroupMember::accept(Message& message) {
    message.view = view_message(message.buffer, !context_.reading());
    if (message.view.damaged) context_.note_damage(coming_.round());
    if (message.view.head.begin != coming_.region().begin) {
        context_.differs = true;
        message.view.table = message.view.payload = {};
    }
    message.state = State::here;
    message.promised = message.merged = message.decided = message.there = 0;
    if (message.view.head.last == 0) return;
    coming_ = after_;
    if (!after_.at_end()) after_.advance();
}

/// Formats the local aggregator's own part of the region as a message in its own buffer (in reads
/// only the run table), so that it is merged like any member's. Nothing is sent.
void GroupMember::write_own() {
    Message& message = current();
    MessageHead head;
    const Region region = at_.region();
    const auto rest = message.buffer.subspan(sizeof head);
    head.table_bytes = static_cast<std::int32_t>(context_.own.next(region, rest, message.own));
    head.payload = message.own.payload;
    head.last = message.own.last ? 1 : 0;
    message.view = {head, rest.first(static_cast<std::size_t>(head.table_bytes)),
                    rest.subspan(static_cast<std::size_t>(head.table_bytes),
                                 static_cast<std::size_t>(head.payload))};
    if (!context_.reading()) context_.own.pack(message.own, message.view.payload);
    message.state = State::here;
    message.promised = message.merged = message.decided = message.there = 0;
}

/// Opens the next message, so that runs can be read from it. Returns false if it hasn't arrived.
bool GroupMember::open_message() {
    if (is_own() && current().state == State::free) write_own();
    if (current().state != State::here) return false;
    reader_ = RunTableReader(current().view.table, whole(at_.region()));
    open_ = true;
    return true;
}

void GroupMember::end_message() {
    Message& message = current();
    open_ = false;
    ended_ = message.view.head.last != 0;
    next_ = (next_ + 1) % messages_max;
    if (!context_.reading()) {
        message.state = State::free;
    } else {
        message.state = State::taken;
        if (message.decided == message.merged) end_answer(message);
    }
}

GroupMember::Has GroupMember::look() {
    if (run_.count == 0) run_ = std::exchange(rest_, {});
    while (run_.count == 0) {
        if (ended_) return Has::end;
        if (!open_ && !open_message()) return Has::nothing_yet;
        if (reader_.at_end()) {
            end_message();
            continue;
        }
        Message& message = current();
        const auto room =
            static_cast<Bytes>(context_.reading() ? message.reply.size() - sizeof(MessageHead)
                                                  : message.view.payload.size()) -
            message.promised;
        run_ = reader_.next();
        Bytes bytes = 0;
        const bool sound = run_.count > 0 &&
                           !__builtin_mul_overflow(run_.length, run_.count, &bytes) &&
                           bytes <= room;
        message.promised += sound ? bytes : 0;
        if (sound) continue;
        context_.note_damage(at_.round());
        run_ = {};
        end_message();
    }
    return Has::run;
}

void GroupMember::take(std::int64_t pieces) {
    current().merged += pieces * run_.length;
    run_.offset += pieces * run_.stride;
    run_.count -= pieces;
}

void GroupMember::take_part(Bytes bytes) {
    if (run_.count > 1)
        rest_ = {run_.offset + run_.stride, run_.length, run_.stride, run_.count - 1};
    current().merged += bytes;
    run_ = {run_.offset + bytes, run_.length - bytes, 0, 1};
}

void GroupMember::advance() {
    at_.advance();
    stand_at_region();
}

Bytes GroupMember::decide(int message, Bytes bytes, Bytes there) {
    Message& one = messages_[static_cast<std::size_t>(message)];
    one.decided += bytes;
    one.there += there;
    return one.state == State::taken && one.decided == one.merged ? end_answer(one) : 0;
}

/// Completes an answer. If it is the local aggregator's own, copies it to the user's buffer and
/// returns the bytes copied; else leaves it to be sent, and returns 0.
Bytes GroupMember::end_answer(Message& message) {
    message.state = is_own() ? State::free : State::answered;
    if (!is_own() || message.there == 0) return 0;
    return context_.own.unpack(
        message.own,
        message.reply.subspan(sizeof(MessageHead), static_cast<std::size_t>(message.there)));
}

/// Sends answers in the order of the requests, because the member expects that order.
Result<Step> GroupMember::send_answers() {
    bool moved = false;
    for (Message& message : messages_) {
        if (message.state != State::leaving) continue;
        const auto sent = context_.transport.test(message.ticket);
        if (!sent) return sent.error();
        if (!sent->done) continue;
        message.state = State::free;
        moved = true;
    }
    while (messages_[static_cast<std::size_t>(answering_)].state == State::answered) {
        const auto left = send_answer(messages_[static_cast<std::size_t>(answering_)]);
        if (!left) return left.error();
        answering_ = (answering_ + 1) % messages_max;
        moved = true;
    }
    return progressed_if(moved);
}

Result<void> GroupMember::send_answer(Message& message) {
    MessageHead head = message.view.head;
    head.payload = message.there;
    std::memcpy(message.reply.data(), &head, sizeof head);
    const std::size_t bytes = sizeof head + static_cast<std::size_t>(message.there);
    const auto ticket = context_.transport.send(
        rank_, roundless_tag_of(context_.sequence, MessageKind::reply), message.reply.first(bytes));
    if (!ticket) return ticket.error();
    message.ticket = *ticket;
    message.state = State::leaving;
    context_.stats.count_message(bytes, context_.transport.topology().on_other_switch(rank_));
    context_.stats.local_messages += 1;
    return {};
}

Bytes GroupMember::copy(const Region& region, const RoundBuffer& buffer, Offset valid_until) {
    Bytes bytes = 0;
    if (is_own()) {
        std::byte* const mask = buffer.mask.empty() ? nullptr : buffer.mask.data();
        ended_ = true;
        return context_.own.copy(region, buffer.data.data(), mask, valid_until).bytes;
    }
    while (!ended_ && current().state == State::here) {
        Message& message = current();
        const MessageView& view = message.view;
        bool sound = true;
        if (context_.reading()) {
            const auto there = fetch_runs(view.table, message.reply.subspan(sizeof(MessageHead)),
                                          region, buffer.data, valid_until);
            sound = there.has_value();
            message.there = there.value_or(0);
            context_.stats.bytes_placed += static_cast<std::uint64_t>(message.there);
        } else {
            sound = place_runs(view.table, view.payload, region, buffer);
            bytes += std::ssize(view.payload);
            context_.stats.bytes_placed += view.payload.size();
        }
        if (!sound) context_.note_damage(at_.round());
        end_message();
    }
    return bytes;
}

Result<Step> GroupMember::receive_told() {
    if (is_told_ || told_.at_end()) return Step::idle;
    if (!telling_.valid()) {
        const auto ticket = context_.transport.receive(
            rank_, roundless_tag_of(context_.sequence, MessageKind::contents),
            std::as_writable_bytes(std::span(&contents_, 1)));
        if (!ticket) return ticket.error();
        telling_ = *ticket;
    }
    const auto received = context_.transport.test(telling_);
    if (!received) return received.error();
    is_told_ = received->done;
    return progressed_if(is_told_);
}

std::optional<GroupMember::Contents> GroupMember::take_told() {
    if (!is_told_) return std::nullopt;
    const Contents told{told_.region().begin, contents_};
    is_told_ = false;
    telling_ = {};
    told_.advance();
    return told;
}

}  // namespace oratorio
