// SPDX-License-Identifier: BSD-3-Clause
// Counter: the number that the ranks of a transport share, such as the shared file pointer, for
// ranks that share no memory. Starts at 0. REQUIRES: one thread of a rank uses it at a time.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace oratorio {

class Counter {
  public:
    virtual ~Counter() = default;
    Counter() = default;
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

    /// Adds `by` and returns the number before. Sums are modulo 2^64.
    virtual Result<std::int64_t> fetch_add(std::int64_t by) = 0;
    virtual Result<void> set(std::int64_t to) = 0;
};

}  // namespace oratorio
