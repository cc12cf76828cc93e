// SPDX-License-Identifier: BSD-3-Clause
#include "run/plan_cache.hpp"

#include <algorithm>

namespace oratorio {

namespace {

AccessSummary moved(AccessSummary summary, Offset by) {
    if (!summary.hull.empty()) summary.hull = {summary.hull.begin + by, summary.hull.end + by};
    return summary;
}

/// Equal but for one step that all of them made. Coverage isn't compared: it changes with the step.
bool same_shape(const Summaries& a, const Summaries& b) {
    if (a.size() != b.size()) return false;
    const auto has_data = [](const AccessSummary& one) { return one.bytes > 0; };
    const auto first = std::find_if(a.begin(), a.end(), has_data) - a.begin();
    const auto at = static_cast<std::size_t>(first);
    const Offset step = at < a.size() ? b[at].hull.begin - a[at].hull.begin : 0;
    for (std::size_t rank = 0; rank < a.size(); ++rank) {
        AccessSummary expected = moved(a[rank], step);
        expected.coverage = b[rank].coverage;
        if (!(expected == b[rank])) return false;
    }
    return true;
}

/// How far an access of `file` is moved when its data begins `by` bytes of data further on; nothing
/// when its pieces then lie differently.
std::optional<Offset> step_of(const Layout& file, Bytes by) {
    const Bytes size = file.shape->size();
    if (by == 0) return 0;
    if (file.shape->contiguous() && file.extent == size) return by;
    if (size == 0 || by % size != 0) return std::nullopt;
    return by / size * file.extent;
}

}  // namespace

bool PlanCache::trusted(Direction direction) const {
    return entry(direction).valid && entry(direction).seen >= entry(direction).needed;
}

std::optional<PlanCache::Kept> PlanCache::recall(const Access& access) const {
    const Entry& kept = entry(access.direction);
    if (access.bytes() != kept.mine.bytes || access.refused.kind != ErrorKind::none)
        return std::nullopt;
    if (access.bytes() == 0) return Kept{kept.plan, kept.mine};
    const bool same = access.file == kept.file &&
                      access.memory.shape->pieces() * access.memory.count == kept.memory_pieces;
    if (!same) return std::nullopt;
    const auto step = step_of(access.file, access.from - kept.from);
    if (!step || (*step != 0 && kept.fixed)) return std::nullopt;
    return Kept{kept.plan.moved(*step), moved(kept.mine, *step)};
}

void PlanCache::keep(const Access& access, const Plan& plan, const AccessSummary& mine,
                     const Summaries& summaries) {
    Entry& kept = entries_[static_cast<std::size_t>(access.direction)];
    kept.seen = kept.valid && same_shape(kept.summaries, summaries) ? kept.seen + 1 : 0;
    kept.valid = true;
    kept.file = access.file;
    kept.from = access.from;
    kept.memory_pieces = access.memory.shape->pieces() * access.memory.count;
    kept.plan = plan;
    kept.mine = mine;
    kept.summaries = summaries;
    const auto has_none = [&](Rank rank) {
        return summaries[static_cast<std::size_t>(rank)].bytes == 0;
    };
    kept.fixed = std::any_of(plan.aggregators.begin(), plan.aggregators.end(), has_none);
    for (std::size_t i = 0; plan.layers.two() && i < plan.graph.size(); ++i)
        kept.fixed = kept.fixed || has_none(plan.graph.participant(i).rank);
}

void PlanCache::distrust(Direction direction) {
    constexpr int kMost = 64;
    Entry& kept = entries_[static_cast<std::size_t>(direction)];
    kept.needed = std::min(2 * kept.needed + 1, kMost);
    kept.seen = 0;
}

}  // namespace oratorio
