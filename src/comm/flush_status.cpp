// SPDX-License-Identifier: BSD-3-Clause
#include "comm/flush_status.hpp"

#include "comm/node_services.hpp"

namespace oratorio {

namespace {

SharedFlushStatus* shared_status_of(Transport& transport) {
    const NodeServices* const node = transport.node_services();
    return node != nullptr ? node->flush_status() : nullptr;
}

// SharedFlushStatus::failed is turn * kKindsMax + ErrorKind.
constexpr std::uint64_t kKindsMax = 256;

/// Sets `failed` to `to`, unless `failed` is larger already.
void raise(std::atomic<std::uint64_t>& failed, std::uint64_t to) {
    std::uint64_t last = failed;
    while (last < to && !failed.compare_exchange_weak(last, to)) {
    }
}

}  // namespace

FlushStatus::FlushStatus(Transport& transport)
    : transport_(transport), shared_(shared_status_of(transport)) {
    if (shared_ != nullptr) turn_ = told_ = shared_->failed / kKindsMax;
}

Result<void> FlushStatus::take(const std::function<Result<void>()>& step, std::string_view theirs) {
    if (shared_ == nullptr) return step();
    ++turn_;
    ++shared_->under_way;
    const auto done = step();
    if (!done)
        raise(shared_->failed, turn_ * kKindsMax + static_cast<std::uint64_t>(done.error().kind));
    // Wait for a pause, a moment in which no rank is in a turn. A pause must occur, because every
    // rank in a turn reaches this line, and can begin its next turn only after a pause.
    const std::uint64_t pauses = shared_->pauses;
    if (--shared_->under_way == 0) ++shared_->pauses;
    while (shared_->under_way > 0 && shared_->pauses == pauses) transport_.idle();
    const std::uint64_t failed = shared_->failed;
    const bool is_new = failed / kKindsMax >= turn_ && failed / kKindsMax > told_;
    if (is_new) told_ = failed / kKindsMax;
    if (!done || !is_new) return done;
    return Error::make(static_cast<ErrorKind>(failed % kKindsMax), theirs);
}

}  // namespace oratorio
