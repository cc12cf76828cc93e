// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/shrink.hpp"

#include <algorithm>
#include <set>

namespace oratorio::oracle {

namespace {

constexpr int kRunsMax = 3000;
constexpr std::uint64_t kSchedules = 12;  // orders of events that are tried for each candidate

/// Repairs a program after a removal: an access whose end is gone becomes a blocking one, and steps
/// without ranks and ends of accesses that no longer begin are removed.
void tidy(Program& program) {
    std::set<int> finished;
    std::set<int> begun;
    for (const Step& step : program.steps) {
        if (step.kind == Kind::finish) finished.insert(step.refers);
        if (step.kind == Kind::start) begun.insert(step.id);
    }
    for (Step& step : program.steps) {
        if (step.kind != Kind::start || finished.contains(step.id)) continue;
        step.kind = Kind::access;  // no step finishes the access any more, so it must block
        step.split = false;
    }
    std::erase_if(program.steps, [&](const Step& step) {
        if (step.kind == Kind::finish) return !begun.contains(step.refers);
        const bool alone = step.kind == Kind::barrier || step.kind == Kind::message;
        return !alone && step.parts.empty();
    });
}

/// Returns true if the step can be removed. A handle in use must still be opened, have a view, and
/// be closed.
bool can_go(const Program& program, std::size_t at) {
    const Step& step = program.steps[at];
    if (step.kind != Kind::view) return step.kind != Kind::open && step.kind != Kind::close;
    return std::any_of(
        program.steps.begin(), program.steps.begin() + static_cast<std::ptrdiff_t>(at),
        [&](const Step& other) { return other.kind == Kind::view && other.handle == step.handle; });
}

class Shrinker {
  public:
    Shrinker(const Program& program, const Verdict& verdict, Stacks& stacks)
        : best_{program, verdict, 0}, stacks_(stacks) {}

    Shrunk run() {
        for (bool better = true; better && best_.runs < kRunsMax;) {
            better = false;
            better |= drop_handles();
            better |= drop_ranks();
            better |= drop_steps();
            better |= drop_parts();
            better |= simplify_setting();
        }
        return best_;
    }

  private:
    bool attempt(Program candidate) {
        tidy(candidate);
        for (std::uint64_t s = 0; s < kSchedules && best_.runs < kRunsMax; ++s) {
            candidate.schedule = s == 0 ? best_.program.schedule : s;
            ++best_.runs;
            const Verdict verdict = execute(candidate, stacks_);
            if (verdict.kind() != best_.verdict.kind()) continue;
            best_.program = std::move(candidate);
            best_.verdict = verdict;
            return true;
        }
        return false;
    }

    bool drop_handles() {
        bool better = false;
        for (int h = static_cast<int>(best_.program.handles.size()) - 1; h >= 0; --h) {
            Program candidate = best_.program;
            const auto before = candidate.steps.size();
            std::erase_if(candidate.steps, [&](const Step& step) { return step.handle == h; });
            if (candidate.steps.size() < before) better |= attempt(std::move(candidate));
        }
        return better;
    }

    /// Removes the last rank and everything that only this rank does.
    bool drop_ranks() {
        if (best_.program.ranks < 2) return false;
        Program candidate = best_.program;
        const Rank last = --candidate.ranks;
        if (candidate.setting.fault_rank == last || candidate.setting.memory.rank == last)
            return false;
        for (Handle& handle : candidate.handles) std::erase(handle.members, last);
        for (Step& step : candidate.steps)
            std::erase_if(step.parts, [&](const Part& part) { return part.rank == last; });
        std::erase_if(candidate.steps, [&](const Step& step) {
            return step.kind == Kind::message && (step.from == last || step.to == last);
        });
        return attempt(std::move(candidate));
    }

    bool drop_steps() {
        bool better = false;
        for (std::size_t length = best_.program.steps.size() / 2; length > 0; length /= 2) {
            for (std::size_t at = 0; at < best_.program.steps.size();) {
                Program candidate = best_.program;
                const std::size_t end = std::min(at + length, candidate.steps.size());
                for (std::size_t s = end; s-- > at;) {
                    if (can_go(candidate, s))
                        candidate.steps.erase(candidate.steps.begin() +
                                              static_cast<std::ptrdiff_t>(s));
                }
                const bool less = candidate.steps.size() < best_.program.steps.size();
                if (less && attempt(std::move(candidate))) {
                    better = true;
                } else {
                    at += length;
                }
            }
        }
        return better;
    }

    /// Reduces the data of ranks' shares of accesses, to nothing if possible.
    bool drop_parts() {
        bool better = false;
        for (std::size_t s = 0; s < best_.program.steps.size(); ++s) {
            const Kind kind = best_.program.steps[s].kind;
            if (kind != Kind::access && kind != Kind::start) continue;
            for (std::size_t p = 0; p < best_.program.steps[s].parts.size(); ++p) {
                for (const Bytes divisor : {Bytes{0}, Bytes{8}, Bytes{2}}) {
                    Program candidate = best_.program;
                    Bytes& bytes = candidate.steps[s].parts[p].bytes;
                    const Bytes less = divisor == 0 ? 0 : bytes / divisor;
                    if (less == bytes) continue;
                    bytes = less;
                    if (attempt(std::move(candidate))) {
                        better = true;
                        break;
                    }
                }
            }
        }
        return better;
    }

    template <class Change>
    bool try_setting(Change change) {
        Program candidate = best_.program;
        change(candidate);
        return attempt(std::move(candidate));
    }

    bool simplify_setting() {
        bool better = false;
        const Setting& now = best_.program.setting;
        if (now.trouble_percent > 0)
            better |= try_setting([](Program& p) { p.setting.trouble_percent = 0; });
        if (now.memory.first > 0)
            better |= try_setting([](Program& p) { p.setting.memory.first = 0; });
        if (now.memory.empty_step >= 0)
            better |= try_setting([](Program& p) { p.setting.memory.empty_step = -1; });
        if (now.client != ClientKind::none)
            better |= try_setting([](Program& p) { p.setting.client = ClientKind::none; });
        if (now.late_percent > 0)
            better |= try_setting([](Program& p) { p.setting.late_percent = 0; });
        if (now.prefill > 0) better |= try_setting([](Program& p) { p.setting.prefill = 0; });
        if (now.beside != Beside::nothing)
            better |= try_setting([](Program& p) { p.setting.beside = Beside::nothing; });
        if (now.ranks_per_node > 0)
            better |= try_setting([](Program& p) { p.setting.ranks_per_node = 0; });
        if (now.pace != Pace::bursts)
            better |= try_setting([](Program& p) { p.setting.pace = Pace::bursts; });
        for (std::size_t h = 0; h < best_.program.handles.size(); ++h) {
            const HintMap hints = best_.program.handles[h].hints;
            for (const auto& [key, value] : hints)
                better |= try_setting([&](Program& p) { p.handles[h].hints.erase(key); });
        }
        return better;
    }

    Shrunk best_;
    Stacks& stacks_;
};

}  // namespace

Shrunk shrink(const Program& program, const Verdict& verdict, Stacks& stacks) {
    return Shrinker(program, verdict, stacks).run();
}

}  // namespace oratorio::oracle
