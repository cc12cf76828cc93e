// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/two_layer/group_data.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "exchange/two_layer/run_joiner.hpp"
#include "type/kernels.hpp"

namespace oratorio {

namespace {

int in_flight(int messages) {
    return std::max(1, messages);
}

/// Returns the ranks of the group that have data, in rank order.
std::vector<Rank> members_of(const Plan& plan, Rank local_aggregator) {
    std::vector<Rank> group = plan.layers().group_of(local_aggregator);
    std::erase_if(group, [&](Rank rank) { return plan.ranks.hull_of(rank).empty(); });
    return group;
}

}  // namespace

/// The state of a chunk while it is made.
struct GroupData::Merge {
    RunJoiner joiner;
    std::size_t capacity;
    Chunk& chunk;
    Record* record;  ///< reads: where the reply's bytes go; null in writes

    [[nodiscard]] Bytes room() const {
        return static_cast<Bytes>(capacity) - chunk.payload -
               static_cast<Bytes>(joiner.bytes() + RunJoiner::batch_bytes_max);
    }
    [[nodiscard]] bool full() const {
        return room() <= 0 || (record != nullptr && record->used == record->memory.size());
    }
};

std::size_t GroupData::shares_max(Bytes message_bytes) {
    return static_cast<std::size_t>(message_bytes) / (2 * sizeof(Share));
}

Bytes GroupData::bytes_needed(Direction direction, const PlanOptions& options, int ranks) {
    const Bytes message = message_bytes_of(options);
    const Bytes members =
        ranks * GroupMember::buffers(direction) * local_message_bytes(options, ranks);
    if (direction == Direction::write) return members + message;
    return members + (in_flight(options.messages_in_flight) + 1) *
                         static_cast<Bytes>(shares_max(message) * sizeof(Share));
}

bool GroupData::needed(const Plan& plan, Rank rank) {
    if (!plan.layers().two() || plan.graph.hull_of(rank).empty()) return false;
    return members_of(plan, rank) != std::vector<Rank>{rank};
}

GroupData::GroupData(const ExchangeContext& context, DataPort& own, std::span<std::byte> memory)
    : context_{context.transport, context.plan, context.stats, context.sequence, own} {
    const Plan& plan = context.plan;
    const std::vector<Rank> group = members_of(plan, context_.rank());
    const auto each = static_cast<std::size_t>(GroupMember::buffers(plan.direction) *
                                               plan.layers().message_bytes());
    members_.reserve(group.size());
    for (const Rank rank : group) {
        members_.emplace_back(context_, rank, memory.first(each));
        memory = memory.subspan(each);
    }
    heap_.reserve(members_.size());
    row_.reserve(members_.size());
    if (context_.reading()) {
        lay_out_records(memory);
    } else {
        payload_ = memory.first(static_cast<std::size_t>(plan.message_bytes));
    }
}

void GroupData::lay_out_records(std::span<std::byte> memory) {
    const std::size_t shares = shares_max(context_.plan.message_bytes);
    for (int i = 0; i <= context_.plan.messages_in_flight; ++i) {
        auto* const first = new (memory.data()) Share[shares];
        records_.push_back({{first, shares}});
        memory = memory.subspan(shares * sizeof(Share));
    }
}

/// Returns a free record. There is a record for each message in flight and one for the chunk that
/// is being made, so one is always free.
int GroupData::take_record() {
    const auto found = std::ranges::find(records_, false, &Record::in_use);
    found->in_use = true;
    found->used = 0;
    return static_cast<int>(found - records_.begin());
}

Result<Step> GroupData::step() {
    bool moved = false;
    for (GroupMember& member : members_) {
        const auto stepped = member.step();
        if (!stepped) return stepped;
        moved = moved || *stepped == Step::progressed;
        if (const auto told = member.take_told()) {
            Sum& sum = told_[told->begin];
            sum.contents.add(told->contents);
            ++sum.told;
        }
    }
    return progressed_if(moved);
}

bool GroupData::finished() const {
    return std::ranges::all_of(members_, [](const GroupMember& member) { return member.idle(); });
}

bool GroupData::ready(const Region& region) {
    return std::ranges::all_of(members_, [&](GroupMember& member) {
        return !member.stands_at(region) || member.look() != GroupMember::Has::nothing_yet;
    });
}

std::optional<RoundContents> GroupData::contents(const Region& region) {
    const auto tell = [&](const GroupMember& member) {
        return !member.is_own() && member.touches(region);
    };
    if (told_[region.begin].told < std::ranges::count_if(members_, tell)) return std::nullopt;
    RoundContents all = told_.extract(region.begin).mapped().contents;
    if (const auto mine = context_.own.contents(region)) all.add(*mine);
    return all;
}

/// Merges the next runs of all members, by offset, until the chunk is full or a member's next
/// message hasn't arrived. If possible, a piece that members share ends in the chunk in which it
/// begins.
std::size_t GroupData::next(const Region& region, std::span<std::byte> table_and_payload,
                            Chunk& chunk) {
    chunk = {};
    if (context_.reading()) chunk.record = take_record();
    Record* const record =
        context_.reading() ? &records_[static_cast<std::size_t>(chunk.record)] : nullptr;
    Merge merge{RunJoiner(table_and_payload, region), table_and_payload.size(), chunk, record};
    heap_.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (members_[i].stands_at(region) && members_[i].look() == GroupMember::Has::run)
            push({members_[i].run().offset, i});
    }
    bool all_here = true;
    while (!heap_.empty() && !merge.full() && (all_here || continues_piece(merge)) &&
           !splits_piece(merge)) {
        if (all_here && patience_ == 0 && take_rows(merge)) {
            for (const std::size_t member : row_) all_here = look_again(member) && all_here;
            continue;
        }
        patience_ -= patience_ > 0 ? 1 : 0;
        const std::size_t member = pop().member;
        Offset limit = heap_.empty() ? INT64_MAX : heap_.front().offset;
        if (!all_here) limit = members_[member].run().offset + 1;
        take_from(member, limit, merge);
        all_here = look_again(member) && all_here;
    }
    merge.joiner.finish();
    context_.stats.pieces_forwarded += static_cast<std::uint64_t>(merge.joiner.pieces());
    chunk.last = all_here && heap_.empty();
    if (chunk.last) advance(region);
    return merge.joiner.bytes();
}

/// Returns true if the next run begins where the last piece ends.
bool GroupData::continues_piece(const Merge& merge) const {
    return heap_.front().offset == merge.joiner.last().end;
}

/// Returns true if the next piece doesn't fit into the rest of the chunk, but would take at most
/// half of an empty one. Runs of several members that touch are one piece.
bool GroupData::splits_piece(const Merge& merge) {
    const Bytes half = static_cast<Bytes>(merge.capacity - RunJoiner::batch_bytes_max) / 2;
    const Offset begin = heap_.front().offset;
    if (merge.chunk.payload == 0 || merge.room() >= half || begin <= merge.joiner.last().end)
        return false;
    row_.clear();
    Offset end = begin;
    while (!heap_.empty() && heap_.front().offset == end && end - begin <= half) {
        end += members_[heap_.front().member].run().length;
        row_.push_back(pop().member);
    }
    for (const std::size_t member : row_) push({members_[member].run().offset, member});
    return end - begin > merge.room() && end - begin <= half;
}

GroupData::Head GroupData::pop() {
    std::ranges::pop_heap(heap_, std::greater<>());
    const Head head = heap_.back();
    heap_.pop_back();
    return head;
}

void GroupData::push(Head head) {
    heap_.push_back(head);
    std::ranges::push_heap(heap_, std::greater<>());
}

/// Puts the member back on the heap if it has another run. Returns false if its next message hasn't
/// arrived.
bool GroupData::look_again(std::size_t index) {
    const GroupMember::Has has = members_[index].look();
    if (has == GroupMember::Has::run) push({members_[index].run().offset, index});
    return has != GroupMember::Has::nothing_yet;
}

/// Rows: adjacent pieces, one from each of several members, repeated at equal distances.
struct GroupData::Rows {
    Offset begin = 0;
    Bytes length = 0;  ///< bytes of one row
    Bytes stride = 0;
    std::int64_t count = 0;
};

/// Moves the members of the rows at the top of the heap to row_. Returns count 0 if too few rows
/// fit into the chunk, or if they can't be taken at once.
GroupData::Rows GroupData::find_rows(const Merge& merge) {
    constexpr std::int64_t kLeast = 4;
    row_.clear();
    const StridedRun first = members_[heap_.front().member].run();
    Rows rows{first.offset, 0, first.stride, first.count};
    while (!heap_.empty()) {
        const StridedRun run = members_[heap_.front().member].run();
        if (run.offset != rows.begin + rows.length || run.stride != rows.stride ||
            run.count < kLeast || rows.length + run.length > rows.stride)
            break;
        rows.count = std::min(rows.count, run.count);
        rows.length += run.length;
        row_.push_back(pop().member);
    }
    if (row_.size() < 2) return {};
    rows.count = std::min(rows.count, merge.room() / rows.length);
    const Offset limit = heap_.empty() ? INT64_MAX : heap_.front().offset;
    if (limit - rows.begin < rows.count * rows.stride)
        rows.count = std::min(rows.count, (limit - rows.begin - rows.length) / rows.stride + 1);
    const bool recorded =
        merge.record == nullptr || merge.record->used + row_.size() <= merge.record->memory.size();
    const bool asked_for = merge.joiner.last().contains(rows.begin);
    if (rows.count < kLeast || !recorded || (context_.reading() && asked_for)) rows.count = 0;
    return rows;
}

/// Takes rows from all members of row_ at once, as take_from does from one member. Returns false if
/// there are too few rows. Rows are common, because the pieces of ranks often interleave in the
/// file.
bool GroupData::take_rows(Merge& merge) {
    constexpr int kPieces = 64;
    const Rows rows = find_rows(merge);
    if (rows.count == 0) {
        for (const std::size_t member : row_) push({members_[member].run().offset, member});
        patience_ = kPieces;
        return false;
    }
    Bytes at = merge.chunk.payload;
    for (const std::size_t index : row_) {
        GroupMember& member = members_[index];
        const Bytes length = member.run().length;
        if (context_.reading()) {
            share(index, at, length, merge);
            Share& one = merge.record->memory[merge.record->used - 1];
            one.count = static_cast<std::int32_t>(rows.count);
            one.stride = static_cast<std::int32_t>(rows.length);
        } else {
            copy_equal({payload_.data() + at, nullptr, rows.length, 0},
                       {member.data(), nullptr, length, 0}, length, rows.count, 1);
        }
        member.take(rows.count);
        at += length;
    }
    const bool dense = rows.length == rows.stride;
    const Bytes each = dense ? rows.count * rows.length : rows.length;
    for (std::int64_t i = 0; i < (dense ? 1 : rows.count); ++i)
        merge.joiner.add(rows.begin + i * rows.stride, each);
    const Bytes bytes = rows.count * rows.length;
    merge.chunk.payload += bytes;
    context_.stats.bytes_merged += static_cast<std::uint64_t>(bytes);
    context_.stats.pieces_gathered += static_cast<std::uint64_t>(rows.count * std::ssize(row_));
    return true;
}

void GroupData::advance(const Region& region) {
    for (GroupMember& member : members_) {
        if (member.stands_at(region)) member.advance();
    }
}

/// Takes the pieces of a member's run that begin before `limit`, as many as fit; at least the first
/// piece, or a part of it. In reads, if the beginning of the first piece is requested already,
/// takes only that part and doesn't request it again.
void GroupData::take_from(std::size_t index, Offset limit, Merge& merge) {
    GroupMember& member = members_[index];
    const StridedRun run = member.run();
    const Extent last = merge.joiner.last();
    if (context_.reading() && last.contains(run.offset)) {  // the bytes are requested already
        const Bytes common = std::min(run.length, last.end - run.offset);
        share(index, merge.chunk.payload - (last.end - run.offset), common, merge);
        take_bytes(member, common);
        return;
    }
    const Bytes room = merge.room();
    const Bytes part = std::min(run.length, room);
    std::int64_t pieces = 1;
    if (part == run.length && run.count > 1) {
        const Bytes before = std::min(limit, run.end()) - run.offset;
        pieces = std::clamp<std::int64_t>((before + run.stride - 1) / run.stride, 1,
                                          std::min(run.count, room / run.length));
    }
    const Bytes bytes = pieces * part;
    if (context_.reading()) {
        share(index, merge.chunk.payload, bytes, merge);
    } else {
        std::memcpy(payload_.data() + merge.chunk.payload, member.data(),
                    static_cast<std::size_t>(bytes));
    }
    for (std::int64_t i = 0; i < pieces; ++i) merge.joiner.add(run.offset + i * run.stride, part);
    merge.chunk.payload += bytes;
    context_.stats.bytes_merged += static_cast<std::uint64_t>(bytes);
    if (pieces > 1) {
        context_.stats.pieces_gathered += static_cast<std::uint64_t>(pieces);
        member.take(pieces);
    } else {
        take_bytes(member, part);
    }
}

/// Takes `bytes` of the first piece of the member's run.
void GroupData::take_bytes(GroupMember& member, Bytes bytes) {
    if (bytes < member.run().length) return member.take_part(bytes);
    context_.stats.pieces_gathered += 1;
    member.take(1);
}

void GroupData::share(std::size_t index, Bytes at, Bytes bytes, Merge& merge) {
    const GroupMember& member = members_[index];
    merge.record->memory[merge.record->used++] = {
        static_cast<std::int32_t>(at), static_cast<std::int32_t>(bytes),
        static_cast<std::int32_t>(member.position()),
        static_cast<std::int32_t>(index * GroupMember::messages_max +
                                  static_cast<std::size_t>(member.message()))};
}

void GroupData::pack(const Chunk& chunk, std::span<std::byte> payload) {
    std::memcpy(payload.data(), payload_.data(), static_cast<std::size_t>(chunk.payload));
}

/// Copies the part of a share that a possibly short payload contains; returns its bytes.
Bytes GroupData::deal(const Share& share, std::span<const std::byte> payload, std::byte* to) {
    const Bytes last = share.at + Bytes{share.count - 1} * share.stride;
    if (share.count > 1 && last + share.bytes <= std::ssize(payload)) {
        copy_equal({to, nullptr, share.bytes, 0},
                   {payload.data() + share.at, nullptr, share.stride, 0}, share.bytes, share.count,
                   1);
        return Bytes{share.count} * share.bytes;
    }
    Bytes there = 0;
    for (Bytes at = share.at; at <= last && at < std::ssize(payload);
         at += std::max(1, share.stride)) {
        const Bytes bytes = std::min<Bytes>(share.bytes, std::ssize(payload) - at);
        std::memcpy(to + there, payload.data() + at, static_cast<std::size_t>(bytes));
        there += bytes;
    }
    return there;
}

Bytes GroupData::unpack(const Chunk& chunk, std::span<const std::byte> payload) {
    Record& record = records_[static_cast<std::size_t>(chunk.record)];
    Bytes own = 0;
    for (const Share& one : record.memory.first(record.used)) {
        GroupMember& member =
            members_[static_cast<std::size_t>(one.message) / GroupMember::messages_max];
        const int message = one.message % GroupMember::messages_max;
        const Bytes there = deal(one, payload, member.answer(message, one.position));
        own += member.decide(message, Bytes{one.count} * one.bytes, there);
        context_.stats.bytes_merged += static_cast<std::uint64_t>(there);
    }
    record.in_use = false;
    return own;
}

Copied GroupData::copy(const Region& region, std::byte* buffer, std::byte* mask,
                       Offset valid_until) {
    const RoundBuffer whole = buffer_of(region, buffer, mask);
    Copied copied;
    for (GroupMember& member : members_) {
        if (!member.stands_at(region) || member.ended()) continue;
        copied.bytes += member.copy(region, whole, valid_until);
        copied.last = copied.last && member.ended();
    }
    if (copied.last) advance(region);
    return copied;
}

}  // namespace oratorio
