// SPDX-License-Identifier: BSD-3-Clause
#include "stats/stats.hpp"

#include <optional>

#include "stats/recorder.hpp"

namespace oratorio {

namespace {

/// Formats nanoseconds as milliseconds: 12345678 becomes "12.345".
std::string milliseconds(std::uint64_t nanoseconds) {
    const std::string thousandths = std::to_string(nanoseconds / 1000 % 1000);
    return std::to_string(nanoseconds / 1'000'000) + "." +
           std::string(3 - thousandths.size(), '0') + thousandths;
}

std::int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

/// Returns the activity as which a time of this row is recorded. Returns nothing for the times of
/// whole accesses, which have records of their own.
std::optional<Activity> activity_of(std::uint64_t Stats::*row) {
    if (row == &Stats::storage_time) return Activity::storage;
    if (row == &Stats::copy_time) return Activity::copying;
    if (row == &Stats::wait_time) return Activity::waiting;
    return std::nullopt;
}

}  // namespace

void Stats::record_message(std::size_t bytes) const {
    const Nanoseconds now = Recorder::now();
    recorder->add({now, now, static_cast<std::int64_t>(bytes), 0, 1, Activity::message, 0});
}

void Timing::add(Clock::time_point end) {
    const std::chrono::nanoseconds taken = end - begin_;
    stats_->*row_ += static_cast<std::uint64_t>(taken.count());
    if (stats_->recorder == nullptr) return;
    if (const auto activity = activity_of(row_))
        stats_->recorder->add({nanoseconds(begin_), nanoseconds(end), 0, 0, 1, *activity, 0});
}

std::array<std::uint64_t, Stats::rows> Stats::values() const {
    return {
#define COUNTER(name, unit, description) name,
#include "stats/counters.def"
#undef COUNTER
    };
}

Stats Stats::of(const std::array<std::uint64_t, rows>& values) {
    Stats stats;
#define COUNTER(name, unit, description) stats.name = values[row_##name];
#include "stats/counters.def"
#undef COUNTER
    return stats;
}

std::string Stats::report() const {
    std::string text;
#define COUNTER(name, unit, description) \
    if (name != 0) text += std::string(#name) + " " + std::to_string(name) + " " + (unit) + "\n";
#define TIME(name, description) \
    if (name != 0) text += std::string(#name) + " " + milliseconds(name) + " ms\n";
#include "stats/counters.def"
#undef COUNTER
    return text;
}

}  // namespace oratorio
