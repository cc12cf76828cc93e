// SPDX-License-Identifier: BSD-3-Clause
// RankZeroCounter: the number that the ranks of a transport share without sharing memory. Rank 0
// keeps it, and serves it to the other ranks once share() has succeeded.
#pragma once

#include <memory>

#include "comm/transport.hpp"
#include "net/served_counter.hpp"

namespace oratorio {

class RankZeroCounter final : public SharedCounter {
  public:
    /// Makes the counter of `rank`. On ranks other than 0, every call before share() fails.
    explicit RankZeroCounter(Rank rank) : rank_(rank) {}
    /// Collective; one broadcast. Makes rank 0 serve the number to the other ranks through
    /// `service`. If rank 0 can't, it still keeps the number, which is enough where the ranks use
    /// it together (reserve() of comm/rendezvous); calls on other ranks then return an error that
    /// says why.
    void share(Transport& ranks, CounterService& service);
    Result<std::int64_t> fetch_add(std::int64_t by) override;
    Result<void> set(std::int64_t to) override;
    /// Returns true if a call has failed on an established connection. A failure to connect doesn't
    /// count: a new counter couldn't connect either.
    [[nodiscard]] bool has_failed() const { return failed_; }

  private:
    void note(const Error& error);

    Rank rank_;
    std::unique_ptr<SharedCounter> served_;  ///< null if the number isn't served
    Error refused_ =
        Error::make(ErrorKind::internal, "the counter of this transport is not shared");
    std::int64_t own_ = 0;  ///< rank 0's number if it isn't served
    bool failed_ = false;
};

}  // namespace oratorio
