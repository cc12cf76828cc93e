// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/messages/zero_copy.hpp"

#include <algorithm>

#include "exchange/messages/payload_copy.hpp"

namespace oratorio {

bool ZeroCopyMessages::moves_in(std::int64_t round) const {
    return std::ranges::any_of(moving_, [round](const Moving& one) { return one.round == round; });
}

Result<Ticket> ZeroCopyMessages::send(const ZeroCopyRound& round, Rank other,
                                      const PieceList& pieces) {
    stats_.count_message(static_cast<std::size_t>(pieces.bytes),
                         transport_.topology().on_other_switch(other));
    stats_.bytes_straight += static_cast<std::uint64_t>(pieces.bytes);
    return transport_.send(other, round.tag, pieces);
}

Result<bool> ZeroCopyMessages::start(const ZeroCopyRound& round, Rank other,
                                     std::span<std::byte> buffer, std::span<const std::byte> table,
                                     Bytes payload) {
    const auto pieces = list_runs(table, payload, round.region, round.buffer.data,
                                  reading() ? round.valid_until : INT64_MAX, lists_);
    if (!pieces || (!reading() && pieces->bytes != payload)) {
        const auto dropped = drop(round, other, buffer);
        return dropped ? Result<bool>(false) : Result<bool>(dropped.error());
    }
    const auto ticket =
        reading() ? send(round, other, *pieces) : transport_.receive(other, round.tag, *pieces);
    if (!ticket) return ticket.error();
    moving_.push_back(
        {*ticket, round.number, buffer, table, round.region, round.buffer.mask, payload, true});
    return true;
}

Result<void> ZeroCopyMessages::drop(const ZeroCopyRound& round, Rank other,
                                    std::span<std::byte> buffer) {
    const auto ticket = reading() ? send(round, other, {})
                                  : transport_.receive(other, round.tag, round.buffer.data);
    if (!ticket) return ticket.error();
    moving_.push_back({*ticket, round.number, buffer, {}, round.region, {}, 0, false});
    return {};
}

Result<ZeroCopyMessages::Done> ZeroCopyMessages::take() {
    for (std::size_t i = 0; i < moving_.size(); ++i) {
        const auto completion = transport_.test(moving_[i].ticket);
        if (!completion) return completion.error();
        if (!completion->done) continue;
        const Moving moved = moving_[i];
        moving_.erase(moving_.begin() + static_cast<std::ptrdiff_t>(i));
        Done done{.round = moved.round, .buffer = moved.buffer};
        if (reading() || !moved.placed) return done;
        done.bytes = completion->bytes;
        done.sound = done.bytes == moved.payload;
        stats_.bytes_straight += static_cast<std::uint64_t>(done.bytes);
        if (!moved.mask.empty() && done.sound) mark_runs(moved.table, moved.region, moved.mask);
        return done;
    }
    return Done{};
}

}  // namespace oratorio
