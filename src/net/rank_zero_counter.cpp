// SPDX-License-Identifier: BSD-3-Clause
#include "net/rank_zero_counter.hpp"

#include <utility>

#include "comm/agreed.hpp"

namespace oratorio {

void RankZeroCounter::share(Transport& ranks, CounterService& service) {
    if (ranks.topology().size == 1) return;
    CounterPlace place;
    if (rank_ == 0) {
        auto hosted = service.host();
        if (hosted) {
            place = (*hosted)->address();
            served_ = std::move(*hosted);
        } else {
            place.refused = hosted.error().system_errno;
        }
    }
    const auto told = agree_on_root(ranks, place);
    if (!told) {
        refused_ = told.error();
        return;
    }
    place = **told;
    if (place.server.count == 0) {
        refused_ = Error::make(ErrorKind::unsupported_operation,
                               "the shared file pointer needs a socket between nodes, and rank 0 "
                               "can't create one: use collective calls",
                               static_cast<int>(place.refused));
    } else if (rank_ != 0) {
        served_ = service.reach(place, rank_);
    }
}

void RankZeroCounter::note(const Error& error) {
    failed_ = failed_ || error.kind != ErrorKind::unsupported_operation;
}

Result<std::int64_t> RankZeroCounter::fetch_add(std::int64_t by) {
    if (served_ == nullptr) {
        if (rank_ != 0) return refused_;
        return std::exchange(own_, wrapping_sum(own_, by));
    }
    auto before = served_->fetch_add(by);
    if (!before) note(before.error());
    return before;
}

Result<void> RankZeroCounter::set(std::int64_t to) {
    if (served_ == nullptr) {
        if (rank_ != 0) return refused_;
        own_ = to;
        return {};
    }
    auto set = served_->set(to);
    if (!set) note(set.error());
    return set;
}

}  // namespace oratorio
