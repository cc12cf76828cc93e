// SPDX-License-Identifier: BSD-3-Clause
#include "plan/learning.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <functional>
#include <ranges>

#include "base/amounts.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

/// Two times count as equal if they differ by less than this share.
constexpr double kNoise = 0.05;
/// The share of the time of all accesses that trying other arms may cost. Fewer than kFewest
/// accesses count as kFewest; otherwise the first ones would hardly try anything.
constexpr double kBudget = 0.05;
constexpr double kFewest = 15;
/// An arm may turn out to be up to this many times faster than estimated.
constexpr double kUncertainty = 2;
/// The storage has changed if accesses become slower or faster by this factor.
constexpr double kChanged = 1.5;
/// Number of latest times that must all show the change.
constexpr std::size_t kShowing = 3;

/// Returns the median; of an even number of values, the lower of the middle two. REQUIRES: `values`
/// isn't empty.
double lower_median(std::span<const double> values) {
    std::array<double, ArmTimes::kKept> sorted;
    std::ranges::copy(values, sorted.begin());
    const std::span used(sorted.data(), values.size());
    std::ranges::sort(used);
    return used[(used.size() - 1) / 2];
}

/// Returns how many times as long the first time of an arm may be as its later ones. The first
/// access with an arm pays for memory that later ones reuse, most of all for memory that the ranks
/// of a node share.
double first_time_of(const Arm& arm) {
    return arm.method->on_node() || arm.method->layers_part().windows ? 2 : 1.5;
}

/// An arm that applies, with what is known about it.
struct TimedArm {
    const ArmEstimate* of = nullptr;
    const ArmTimes* times = nullptr;  ///< null if the table doesn't have the arm

    [[nodiscard]] std::size_t count() const { return times != nullptr ? times->seconds.size() : 0; }
};

const Arm& arm_of(const ArmTimes& times) {
    return times.of.arm;
}

std::vector<TimedArm> timed_arms(std::span<const ArmEstimate> arms, const KindTimes& kind) {
    std::vector<TimedArm> known;
    for (const ArmEstimate& one : arms) {
        const auto found = std::ranges::find(kind.arms, one.arm, arm_of);
        known.push_back({&one, found != kind.arms.end() ? &*found : nullptr});
    }
    return known;
}

/// Returns the index of the best arm with times, or known.size() if no arm has times. Stays with
/// `current` unless another arm is faster by more than the noise, or as fast with less waiting.
std::size_t best_of(std::span<const TimedArm> known, const Arm& current) {
    double least = INFINITY;
    for (const TimedArm& one : known)
        if (one.count() > 0) least = std::min(least, one.times->median());
    std::size_t best = known.size();
    for (std::size_t i = 0; i < known.size(); ++i) {
        const TimedArm& one = known[i];
        if (one.count() == 0 || one.times->median() > least * (1 + kNoise)) continue;
        const int waiting = best < known.size() ? known[best].of->waiting : INT_MAX;
        if (one.of->waiting < waiting || (one.of->waiting == waiting && one.of->arm == current))
            best = i;
    }
    return best;
}

/// Returns the ratio of measured to estimated time: the median over all arms with times. (A
/// geometric mean needs logarithms, which processors may round differently.)
double slowness(std::span<const TimedArm> timed) {
    std::vector<double> ratios;
    for (const TimedArm& one : timed) {
        if (one.count() > 0 && one.of->seconds > 0)
            ratios.push_back(one.times->median() / one.of->seconds);
    }
    if (ratios.empty()) return 1;
    const auto middle = ratios.begin() + (std::ssize(ratios) - 1) / 2;
    std::ranges::nth_element(ratios, middle);
    return *middle;
}

/// Returns the index of an arm that could be faster than `best` and is affordable, or `best`. If
/// accesses took longer than estimated, an arm without times is expected to exceed its estimate by
/// less, because the wrong constants may not affect it. An arm with a single time is tried once
/// more if its later times could be the best.
std::size_t worth_trying(std::span<const TimedArm> known, std::size_t best, const KindTimes& kind) {
    const double best_time = known[best].times->median();
    const double slow = slowness(known);
    std::size_t picked = best;
    double least = INFINITY;
    for (std::size_t i = 0; i < known.size(); ++i) {
        const TimedArm& one = known[i];
        if (i == best || one.count() > 1) continue;
        const bool first = one.count() == 0;
        const double later = 1 / first_time_of(one.of->arm);
        const double known_time = first ? one.of->seconds : one.times->seconds.front();
        const double expected = known_time * std::sqrt(first ? slow : later);
        const double at_best = known_time * (first ? std::min(1.0, slow) / kUncertainty : later);
        const double excess = std::max(0.0, expected - best_time);
        const bool affordable =
            kind.spent.excess + excess <=
            kBudget * std::max(kind.spent.total + expected, kFewest * best_time);
        if (at_best < best_time * (1 - kNoise) && affordable && expected < least) {
            picked = i;
            least = expected;
        }
    }
    return picked;
}

/// Returns whether the latest times of the arm in use are all far from the ones before.
bool has_changed(const ArmTimes& times) {
    if (times.seconds.size() < ArmTimes::kKept) return false;
    const std::span<const double> all = times.seconds;
    const double before = lower_median(all.first(all.size() - kShowing));
    const auto latest = std::ranges::minmax(all.last(kShowing));
    return latest.min > kChanged * before || kChanged * latest.max < before;
}

void forget_before_change(KindTimes& kind) {
    for (ArmTimes& one : kind.arms) {
        const std::size_t kept = one.of.arm == kind.current ? kShowing : 0;
        one.seconds.erase(one.seconds.begin(),
                          one.seconds.end() - static_cast<std::ptrdiff_t>(kept));
        one.unsaved = std::min(one.unsaved, one.seconds.size());
    }
}

void add(KindTimes::Spent& spent, const KindTimes::Spent& more) {
    spent.accesses += more.accesses;
    spent.total += more.total;
    spent.excess += more.excess;
}

void add_times(ArmTimes& times, std::span<const double> latest) {
    times.seconds.insert(times.seconds.end(), latest.begin(), latest.end());
    const auto count = static_cast<std::ptrdiff_t>(times.seconds.size());
    const auto kept = static_cast<std::ptrdiff_t>(ArmTimes::kKept);
    if (count > kept) times.seconds.erase(times.seconds.begin(), times.seconds.end() - kept);
    times.unsaved = std::min(times.unsaved + latest.size(), times.seconds.size());
}

/// Drops arms for which `applies` is false, in their order, until kArmsKept arms are left.
void drop_surplus(std::vector<ArmTimes>& arms,
                  const std::function<bool(const ArmTimes&)>& applies) {
    for (auto one = arms.begin(); one != arms.end() && arms.size() > KindTimes::kArmsKept;)
        one = applies(*one) ? one + 1 : arms.erase(one);
}

std::string times_text(std::span<const TimedArm> known, std::uint64_t accesses) {
    std::string text;
    for (const TimedArm& one : known) {
        if (one.count() == 0) continue;
        text += (text.empty() ? "" : ", ") + to_text(one.of->arm) + " " +
                seconds_text(one.times->median());
    }
    if (text.empty()) return text;
    return text + " (" + counted(accesses, "access", "es") + ")";
}

/// Returns the index of the arm that the next access should use.
std::size_t pick_of(std::span<const TimedArm> known, const KindTimes& kind) {
    const std::size_t best = best_of(known, kind.current);
    if (best == known.size()) return 0;
    // The first access may have paid for memory that later ones reuse, so its arm is timed twice.
    if (known[best].count() == 1 && kind.spent.accesses == 1) return best;
    return worth_trying(known, best, kind);
}

}  // namespace

double ArmTimes::median() const {
    constexpr std::size_t kLatest = 5;
    const std::span<const double> all = seconds;
    return lower_median(all.last(std::min(kLatest, all.size())));
}

const KindTimes* LearnedTimes::find(const AccessKind& kind) const {
    const auto found = std::ranges::find(kinds_, kind, &KindTimes::kind);
    return found != kinds_.end() ? &*found : nullptr;
}

Trial LearnedTimes::trial(const AccessKind& kind, std::vector<ArmEstimate> arms) const {
    Trial trial{kind, std::move(arms), 0, ""};
    if (const KindTimes* const times = find(kind); times != nullptr) {
        const std::vector<TimedArm> known = timed_arms(trial.arms, *times);
        trial.picked = pick_of(known, *times);
        trial.text = times_text(known, times->spent.accesses);
    }
    return trial;
}

void LearnedTimes::put(KindTimes kind) {
    std::erase_if(kinds_, [&](const KindTimes& one) { return one.kind == kind.kind; });
    kinds_.insert(kinds_.begin(), std::move(kind));
    if (kinds_.size() > kKindsMost) kinds_.pop_back();
}

/// Moves the kind of a trial to the front, adds all arms of the trial to it, and returns it. Drops
/// other arms if there are too many.
KindTimes& LearnedTimes::bring_forward(const Trial& trial) {
    const auto found = std::ranges::find(kinds_, trial.kind, &KindTimes::kind);
    if (found == kinds_.end()) {
        put(KindTimes{.kind = trial.kind});
    } else {
        std::rotate(kinds_.begin(), found, found + 1);
    }
    KindTimes& kind = kinds_.front();
    for (const ArmEstimate& one : trial.arms) {
        const auto same = std::ranges::find(kind.arms, one.arm, arm_of);
        if (same != kind.arms.end()) {
            same->of = one;
        } else {
            kind.arms.push_back({one, {}});
        }
    }
    drop_surplus(kind.arms, [&](const ArmTimes& one) {
        return std::ranges::find(trial.arms, one.of.arm, &ArmEstimate::arm) != trial.arms.end();
    });
    return kind;
}

bool LearnedTimes::wants_other(const Trial& trial) const {
    const KindTimes* const kind = find(trial.kind);
    return kind != nullptr && kind->spent.accesses > 0 &&
           !(kind->next == trial.arms[trial.picked].arm);
}

void LearnedTimes::record(const Trial& trial, double seconds) {
    KindTimes& kind = bring_forward(trial);
    const Arm& picked = trial.arms[trial.picked].arm;
    const std::vector<TimedArm> known = timed_arms(trial.arms, kind);
    const std::size_t best = best_of(known, kind.current);
    const bool tried = best < known.size() && best != trial.picked;
    const double excess = tried ? std::max(0.0, seconds - known[best].times->median()) : 0;
    for (KindTimes::Spent* const spent : {&kind.spent, &kind.unsaved})
        add(*spent, {1, seconds, excess});
    ArmTimes& times = *std::ranges::find(kind.arms, picked, arm_of);
    add_times(times, std::span(&seconds, 1));
    kind.current = known[best_of(known, kind.current)].of->arm;
    if (kind.current == picked && has_changed(times)) forget_before_change(kind);
    kind.next = trial.arms[pick_of(known, kind)].arm;
}

void LearnedTimes::merge(const LearnedTimes& other) {
    for (const KindTimes& theirs : std::views::reverse(other.kinds_)) {
        if (theirs.unsaved.accesses == 0) continue;
        const KindTimes* const known = find(theirs.kind);
        KindTimes kind = known != nullptr ? *known : KindTimes{.kind = theirs.kind};
        kind.current = theirs.current;
        add(kind.spent, theirs.unsaved);
        for (const ArmTimes& one : theirs.arms) {
            auto same = std::ranges::find(kind.arms, one.of.arm, arm_of);
            if (same == kind.arms.end()) same = kind.arms.insert(same, {.of = one.of});
            same->of = one.of;
            add_times(*same, std::span(one.seconds).last(one.unsaved));
            same->unsaved = 0;
        }
        drop_surplus(kind.arms, [&](const ArmTimes& one) {
            return std::ranges::find(theirs.arms, one.of.arm, arm_of) != theirs.arms.end();
        });
        put(std::move(kind));
    }
}

void LearnedTimes::mark_saved() {
    for (KindTimes& kind : kinds_) {
        kind.unsaved = {};
        for (ArmTimes& one : kind.arms) one.unsaved = 0;
    }
}

double LearnedTimes::unsaved_seconds() const {
    double sum = 0;
    for (const KindTimes& kind : kinds_) sum += kind.unsaved.total;
    return sum;
}

}  // namespace oratorio
