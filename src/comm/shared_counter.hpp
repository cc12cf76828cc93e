// SPDX-License-Identifier: BSD-3-Clause
// SharedCounter: the number that the ranks of a transport share, such as the shared file pointer.
// It starts at 0. Sums are modulo 2^64. REQUIRES: one thread of a rank uses it at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.hpp"

namespace oratorio {

class SharedCounter {
  public:
    virtual ~SharedCounter() = default;
    SharedCounter() = default;
    SharedCounter(const SharedCounter&) = delete;
    SharedCounter& operator=(const SharedCounter&) = delete;

    /// Adds `by` and returns the previous value. Not collective.
    virtual Result<std::int64_t> fetch_add(std::int64_t by) = 0;
    /// Sets the value. Not collective. REQUIRES: no other rank uses the counter during the call.
    virtual Result<void> set(std::int64_t to) = 0;
};

/// Returns the sum of two numbers modulo 2^64.
[[nodiscard]] inline std::int64_t wrapping_sum(std::int64_t one, std::int64_t other) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) +
                                     static_cast<std::uint64_t>(other));
}

/// A counter in memory that all ranks share. No call fails. REQUIRES: the memory outlives the
/// object.
class MemoryCounter final : public SharedCounter {
  public:
    explicit MemoryCounter(std::atomic<std::int64_t>& number) : number_(number) {}
    Result<std::int64_t> fetch_add(std::int64_t by) override { return number_.fetch_add(by); }
    Result<void> set(std::int64_t to) override {
        number_.store(to);
        return {};
    }

  private:
    std::atomic<std::int64_t>& number_;
};

}  // namespace oratorio
