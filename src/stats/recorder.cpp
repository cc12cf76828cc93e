// SPDX-License-Identifier: BSD-3-Clause
#include "stats/recorder.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>

namespace oratorio {

namespace {

struct ActivityRow {
    std::string_view name;
    std::string_view category;
};

constexpr ActivityRow kActivities[] = {
#define ACTIVITY(name, category, description) {#name, category},
#include "stats/activities.def"
#undef ACTIVITY
};

const ActivityRow& row_of(Activity activity) {
    return kActivities[static_cast<std::size_t>(activity)];
}

constexpr int kLanes = 31;
constexpr Nanoseconds kClosely = 2000;

/// Returns true for activities inside a phase. Their spans are many and short, so the recorder
/// joins neighbouring ones and limits their number; otherwise single messages and short waits would
/// fill the memory.
bool is_detail(Activity activity) {
    return activity >= Activity::storage;
}

}  // namespace

std::string_view name_of(Activity activity) {
    return row_of(activity).name;
}

std::string_view category_of(Activity activity) {
    return row_of(activity).category;
}

Recorder::Limits Recorder::limits_for(int ranks) {
    const auto of = [ranks](std::size_t all, std::size_t least, std::size_t most) {
        return std::clamp(all / static_cast<std::size_t>(ranks), least, most);
    };
    const std::size_t spans = of(std::size_t{1} << 21, 128, 16384);
    const std::size_t numbers = of(std::size_t{1} << 24, 1 << 10, 1 << 17);
    return {of(std::size_t{1} << 17, 8, 1024), spans, std::max<std::size_t>(spans / 8, 64),
            of(std::size_t{1} << 15, 8, 256), static_cast<std::int64_t>(numbers)};
}

Nanoseconds Recorder::now() {
    using std::chrono::steady_clock;
    return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

Recorder::Recorder(const Stats& stats, const Limits& limits) : stats_(stats), limits_(limits) {
    try {
        accesses_.reserve(limits_.accesses);
        kept_.reserve(limits_.accesses);
        spans_.reserve(limits_.spans);
    } catch (const std::bad_alloc&) {
        limits_ = {};
    }
}

int Recorder::begin(const AccessRecord& what) {
    accesses_.push_back(what);
    kept_.push_back(0);
    AccessRecord& mine = accesses_.back();
    mine.collective = what.collective < 0 ? -1 : collectives_++;
    const int lane = std::min(std::countr_one(lanes_), kLanes);
    mine.lane = static_cast<std::uint8_t>(lane);
    lanes_ |= std::uint32_t{1} << lane;
    const int number = static_cast<int>(accesses_.size()) - 1;
    work_for(number);
    return number;
}

/// Adds to the current access what `stats_` has counted since that access became current.
void Recorder::settle() {
    AccessRecord* const mine = find(current_);
    if (mine == nullptr) return;
    const auto now = stats_.values();
    for (std::size_t row = 0; row < now.size(); ++row) mine->counts[row] += now[row] - before_[row];
}

void Recorder::work_for(int access) {
    if (access == current_) return;
    settle();
    current_ = access;
    if (access != nobody) before_ = stats_.values();
}

void Recorder::end(int access, Bytes moved, ErrorKind error) {
    if (AccessRecord* const mine = find(access)) {
        work_for(access);
        mine->end = now();
        mine->moved = moved;
        mine->error = error;
        lanes_ &= ~(std::uint32_t{1} << mine->lane);
    }
    work_for(nobody);
}

AccessRecord* Recorder::find(int access) {
    return access == nobody ? nullptr : &accesses_[static_cast<std::size_t>(access)];
}

/// Returns true if `span` can be joined to the last span: both are details of the same activity and
/// access, and one closely follows the other.
bool Recorder::joins(const Span& span) const {
    if (spans_.empty() || !is_detail(span.activity)) return false;
    const Span& last = spans_.back();
    return last.activity == span.activity && last.access == span.access &&
           span.begin - last.end < kClosely && last.joined < UINT16_MAX;
}

void Recorder::add(const Span& span) {
    if (current_ == nobody) return;
    Span mine = span;
    mine.access = current_;
    if (joins(mine)) {
        Span& last = spans_.back();
        last.end = mine.end;
        last.detail += mine.detail;
        last.joined = static_cast<std::uint16_t>(last.joined + mine.joined);
        return;
    }
    const auto owner = static_cast<std::size_t>(current_);
    if (spans_.size() >= limits_.spans ||
        (is_detail(mine.activity) && kept_[owner] >= limits_.spans_of_access)) {
        ++dropped_spans_;
        return;
    }
    if (is_detail(mine.activity)) ++kept_[owner];
    spans_.push_back(mine);
}

void Track::turn_to(Activity activity, std::int64_t detail) {
    if (open_ && span_.activity == activity && span_.detail == detail) return;
    const bool follows = open_;
    close();
    span_.activity = activity;
    span_.detail = detail;
    span_.lane = lane_;
    span_.begin = follows ? span_.end : Recorder::now();
    open_ = true;
}

void Track::close() {
    if (!open_) return;
    open_ = false;
    span_.end = Recorder::now();
    recorder_->add(span_);
}

}  // namespace oratorio
