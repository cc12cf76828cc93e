// SPDX-License-Identifier: BSD-3-Clause
// Agreement on errors, which ends most collective calls: one reduction shows all ranks whether the
// call failed, and on which rank.
#include "comm/agreed.hpp"

#include <algorithm>
#include <array>

namespace oratorio {

// The kind is in the high half, so that a reduction by max keeps the worst one. The complement of
// the rank is in the low half, so that of equal kinds the lowest rank wins. Key 0 means success;
// the key of a failure is never 0.
std::uint64_t key_of(const Error& error, Rank rank) {
    if (error.kind == ErrorKind::none) return 0;
    return static_cast<std::uint64_t>(error.kind) << 32 | ~static_cast<std::uint32_t>(rank);
}

Rank owner_of(std::uint64_t key) {
    return static_cast<Rank>(~static_cast<std::uint32_t>(key));
}

ErrorKind kind_of_key(std::uint64_t key) {
    return static_cast<ErrorKind>(key >> 32);
}

namespace {

/// Returns the remark that a reduced key encodes. Keys of errors lie between Remark::more and
/// Remark::veto.
Remark remark_of(std::uint64_t key) {
    for (const Remark remark : {Remark::more, Remark::veto})
        if (key == static_cast<std::uint64_t>(remark)) return remark;
    return Remark::none;
}

}  // namespace

Result<Step> Agreement::step(Transport& transport) {
    const Rank rank = transport.topology().rank;
    if (phase_ == Phase::ready) {
        words_[0] = std::max(key_of(error_, rank), static_cast<std::uint64_t>(remark_));
        const auto sent = std::span(words_).first(sent_);
        return start(transport.reduce(sent, ReduceOp::max), Phase::deciding, transport);
    }
    if (phase_ == Phase::over) return Step::done;
    const auto completion = transport.test(ticket_);
    if (!completion) return completion.error();
    if (!completion->done) return Step::idle;
    const std::uint64_t key = words_[0];
    if (phase_ == Phase::deciding) remark_ = remark_of(key);
    const bool failed = phase_ == Phase::deciding && key != 0 && remark_ == Remark::none;
    if (failed && sent_ == words_.size()) {
        error_ = Error::make(kind_of_key(key), "another rank failed").on(owner_of(key));
    } else if (failed) {
        if (error_.rank < 0) error_ = error_.on(rank);
        return start(
            transport.broadcast(owner_of(key), std::as_writable_bytes(std::span(&error_, 1))),
            Phase::telling, transport);
    }
    phase_ = Phase::over;
    return Step::done;
}

/// Enters phase `next` with a started operation. Then steps once more, because the operation is
/// often complete at once: with one rank, and on the rank that arrives last.
Result<Step> Agreement::start(Result<Ticket> ticket, Phase next, Transport& transport) {
    if (!ticket) return ticket.error();
    ticket_ = *ticket;
    phase_ = next;
    return step(transport);
}

Result<Agreed<std::uint64_t>> agree_on_equal(Transport& transport, std::uint64_t mine,
                                             std::string_view what_differs) {
    AllEqual all{mine};
    std::array words{all.value, all.turned};
    if (auto reduced = reduce(transport, words, ReduceOp::max); !reduced) return reduced.error();
    all = {words[0], words[1]};
    if (!all.holds()) return Error::make(ErrorKind::not_same, what_differs);
    return Agreed<std::uint64_t>::vouch(mine);
}

Result<void> agree_on_error(Transport& transport, const Error& mine) {
    Agreement agreement(mine);
    for (;;) {
        const auto over = agreement.step(transport);
        if (!over) return over.error();
        if (*over == Step::done) break;
        transport.idle();
    }
    if (agreement.error().kind == ErrorKind::none) return {};
    return agreement.error();
}

}  // namespace oratorio
