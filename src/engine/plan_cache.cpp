// SPDX-License-Identifier: BSD-3-Clause
#include "engine/plan_cache.hpp"

#include <algorithm>

namespace oratorio {

namespace {

AccessSummary moved(AccessSummary summary, Offset by) {
    if (!summary.hull.empty()) summary.hull = {summary.hull.begin + by, summary.hull.end + by};
    return summary;
}

/// Returns the distance in the file by which an access of `file` moves if its data begins `by` data
/// bytes later; nothing if the layout of its pieces would change.
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
    if (!step || !kept.plan.can_move(*step)) return std::nullopt;
    return Kept{kept.plan.moved(*step), moved(kept.mine, *step)};
}

void PlanCache::keep(const Access& access, const Plan& plan, const AccessSummary& mine,
                     std::uint64_t fingerprint) {
    Entry& kept = entries_[static_cast<std::size_t>(access.direction)];
    kept.seen = kept.valid && kept.fingerprint == fingerprint ? kept.seen + 1 : 0;
    kept.valid = true;
    kept.file = access.file;
    kept.from = access.from;
    kept.memory_pieces = access.memory.shape->pieces() * access.memory.count;
    kept.plan = plan;
    kept.mine = mine;
    kept.fingerprint = fingerprint;
}

void PlanCache::keep_buffers(RunMemory::Leases buffers) {
    const bool keeps = std::ranges::any_of(entries_, &Entry::valid);
    if (keeps && buffers_.collective.span().empty()) buffers_ = std::move(buffers);
}

void PlanCache::distrust(Direction direction) {
    constexpr int kMost = 64;
    Entry& kept = entries_[static_cast<std::size_t>(direction)];
    kept.needed = std::min(2 * kept.needed + 1, kMost);
    kept.seen = 0;
}

}  // namespace oratorio
