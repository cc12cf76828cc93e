// SPDX-License-Identifier: BSD-3-Clause
// Tuning: measures the collective accesses of a file, and remembers which arm was the fastest
// (plan/learning). The ranks have no common clock: each counts from the end of the last agreement
// or gathering of an access, which all ranks left at about the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "comm/agreed.hpp"
#include "plan/learning.hpp"
#include "plan/plan.hpp"

namespace oratorio {

class Tuning {
  public:
    /// Returns nanoseconds since a fixed point in time. A test may pass a clock of its own.
    using Clock = std::int64_t (*)();

    /// Measures nothing before start(): until then, `auto` follows the cost model. REQUIRES:
    /// `learned`, which outlives the object, is equal on all ranks.
    explicit Tuning(LearnedTimes& learned) : learned_(learned) {}

    /// Collective. Measures accesses from now on. `cpu_clock` returns the CPU time of the calling
    /// thread; it may be null. REQUIRES: called between two accesses.
    void start(Clock clock, Clock cpu_clock) {
        clock_ = clock;
        cpu_clock_ = cpu_clock;
        meet();
    }
    [[nodiscard]] bool measures() const { return clock_ != nullptr; }
    /// Returns the table of times, null if nothing is measured. The times were agreed on by the
    /// reductions that ended the accesses.
    [[nodiscard]] Agreed<const LearnedTimes*> learned() const;
    /// Returns true if the next access of this kind should use another arm than the plan's.
    [[nodiscard]] bool wants_other(const Plan& plan) const;
    /// Restarts the count of since_meeting(). REQUIRES: an operation that waited for all ranks has
    /// just ended.
    void meet() { met_ = now(); }
    /// Returns nanoseconds since the last meet().
    [[nodiscard]] std::uint64_t since_meeting() const {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now() - met_));
    }
    /// Returns the CPU time of the calling thread in nanoseconds, 0 if there is no such clock.
    [[nodiscard]] std::int64_t cpu_time() const { return cpu_clock_ != nullptr ? cpu_clock_() : 0; }
    /// Records the time of an access with the arm that the trial picked. REQUIRES: all ranks record
    /// the same.
    void record(const Trial& trial, std::uint64_t nanoseconds);

  private:
    [[nodiscard]] std::int64_t now() const { return clock_ != nullptr ? clock_() : 0; }

    LearnedTimes& learned_;
    Clock clock_ = nullptr;
    Clock cpu_clock_ = nullptr;
    std::int64_t met_ = 0;
};

/// The CPU time that a rank spends on the work of an access.
class WorkTime {
  public:
    void start(const Tuning& tuning) {
        began_ = tuning.cpu_time();
        thread_ = std::this_thread::get_id();
    }
    /// Returns nanoseconds since start(); 0 if another thread called start(), or none did.
    [[nodiscard]] std::int64_t spent(const Tuning& tuning) const {
        if (thread_ != std::this_thread::get_id()) return 0;
        return std::max<std::int64_t>(0, tuning.cpu_time() - began_);
    }

  private:
    std::int64_t began_ = 0;
    std::thread::id thread_;
};

}  // namespace oratorio
