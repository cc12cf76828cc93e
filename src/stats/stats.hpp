// SPDX-License-Identifier: BSD-3-Clause
// Stats: exact counts of the engine's work, one number per row of counters.def, and, if requested,
// the times it took. The object is passed down as an argument and is never global.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace oratorio {

class Recorder;

struct Stats {
#define COUNTER(name, unit, description) std::uint64_t name = 0;
#include "stats/counters.def"
#undef COUNTER

    void count_access(std::int64_t bytes, bool writes) {
        accesses += 1;
        written = written || writes;
        bytes_moved += static_cast<std::uint64_t>(bytes);
    }

    /// Counts a message to another rank. `on_other_switch`: that rank's node is on another switch.
    void count_message(std::size_t bytes, bool on_other_switch) {
        messages_sent += 1;
        message_bytes += bytes;
        messages_between_switches += on_other_switch ? 1 : 0;
        bytes_between_switches += on_other_switch ? bytes : 0;
        if (recorder != nullptr) record_message(bytes);
    }

    bool written = false;          ///< some access was a write
    bool timed = false;            ///< times are measured; each costs two reads of the clock
    Recorder* recorder = nullptr;  ///< records measured times as spans; set only if `timed`

    /// Stops recording. Times are still measured if `stays_timed`.
    void stop_recording(bool stays_timed) {
        recorder = nullptr;
        timed = stays_timed;
    }

    enum Row : std::size_t {
#define COUNTER(name, unit, description) row_##name,
#include "stats/counters.def"
#undef COUNTER
        rows
    };
    /// Adds the counts and times of `other`.
    void add(const Stats& other) {
#define COUNTER(name, unit, description) name += other.name;
#include "stats/counters.def"
#undef COUNTER
    }
    /// values() returns the rows as an array, which can be summed over ranks; of() is its inverse.
    [[nodiscard]] std::array<std::uint64_t, rows> values() const;
    static Stats of(const std::array<std::uint64_t, rows>& values);

    /// Returns one line "name value unit" for each row that isn't zero, with times in milliseconds.
    [[nodiscard]] std::string report() const;

  private:
    void record_message(std::size_t bytes) const;
};

/// A scope that adds its duration to a row of `stats`, if `stats` isn't null and times are
/// measured.
class Timing {
  public:
    Timing(Stats* stats, std::uint64_t Stats::*row)
        : stats_(stats != nullptr && stats->timed ? stats : nullptr), row_(row) {
        if (stats_ != nullptr) begin_ = Clock::now();
    }
    ~Timing() {
        if (stats_ != nullptr) add(Clock::now());
    }
    Timing(const Timing&) = delete;
    Timing& operator=(const Timing&) = delete;

  private:
    using Clock = std::chrono::steady_clock;
    void add(Clock::time_point end);
    Stats* stats_;
    std::uint64_t Stats::*row_;
    Clock::time_point begin_;
};

}  // namespace oratorio
