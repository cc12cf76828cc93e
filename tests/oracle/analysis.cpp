// SPDX-License-Identifier: BSD-3-Clause
// The facts about a program that the rules need: what each rank knows when, and which access writes
// which byte.
#include <algorithm>

#include "oracle/rules.hpp"

namespace oratorio::oracle {

namespace {

constexpr int kValues = 255;  // number of values of a byte other than zero

/// Returns a number that differs between nearby offsets, so that the rules notice data at a wrong
/// offset.
int shift_of(Offset at) {
    return static_cast<int>((static_cast<std::uint64_t>(at) * 0x9e3779b97f4a7c15ULL) >> 40) %
           kValues;
}

std::byte coded(Offset at, int number) {
    return static_cast<std::byte>(1 + (number + shift_of(at)) % kValues);
}

}  // namespace

Rules::Rules(const Program& program) : program_(program) {
    before_all_.rank = after_all_.rank = -1;
    walk();
    index_writers();
    order();
}

/// The state of each rank during the walk through the program's steps.
struct Rules::Walk {
    struct Seen {  // the last view and the last sync of one rank on one handle
        Tiles view;
        Clock refreshed;
    };
    explicit Walk(const Program& program)
        : seen(program.handles.size()), atomic(program.handles.size()) {
        for (Clock& clock : clocks) clock.fill(-1);
    }
    [[nodiscard]] Seen& at(int handle, Rank rank) {
        return seen[static_cast<std::size_t>(handle)][static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] Clock& clock(Rank rank) { return clocks[static_cast<std::size_t>(rank)]; }
    void rendezvous(const Step& step, int number);

    std::array<Clock, kRanksMax> clocks;
    std::vector<std::array<Seen, kRanksMax>> seen;
    std::vector<bool> atomic;
};

/// Handles barriers and messages: after a barrier each rank knows what any rank knew, and the
/// receiver of a message knows what its sender knew.
void Rules::Walk::rendezvous(const Step& step, int number) {
    const auto learn = [](Clock& mine, const Clock& other) {
        for (std::size_t r = 0; r < kRanksMax; ++r) mine[r] = std::max(mine[r], other[r]);
    };
    if (step.kind == Kind::message) {
        learn(clock(step.to), clock(step.from));
        clock(step.from)[static_cast<std::size_t>(step.from)] = number;
        clock(step.to)[static_cast<std::size_t>(step.to)] = number;
    }
    if (step.kind == Kind::barrier) {
        Clock all = clocks[0];
        for (const Clock& clock : clocks) learn(all, clock);
        clocks.fill(all);
        for (std::size_t r = 0; r < kRanksMax; ++r) clocks[r][r] = number;
    }
}

/// Walks the program's steps in order and records each rank's share of each step.
void Rules::walk() {
    Walk walk(program_);
    const auto count = static_cast<int>(program_.steps.size());
    for (int s = 0; s < count; ++s) {
        const Step& step = program_.steps[static_cast<std::size_t>(s)];
        for (std::size_t p = 0; p < step.parts.size(); ++p) {
            if (step.handle >= 0) take(walk, step, p, s);
            const Rank rank = step.parts[p].rank;
            walk.clock(rank)[static_cast<std::size_t>(rank)] = s;
        }
        if (step.kind == Kind::atomic) walk.atomic[static_cast<std::size_t>(step.handle)] = step.on;
        walk.rendezvous(step, s);
    }
    // `after_all_` represents the check of the file after all ranks have closed it.
    after_all_.begin = after_all_.end = count;
    after_all_.known.fill(count);
    after_all_.refreshed.fill(count);
    before_all_.flushed = -2;
    before_all_.rank = after_all_.rank = 0;
    before_all_.handle = after_all_.handle = -1;
    before_all_.begin = before_all_.end = -2;
}

/// Records one rank's share of a step on a handle in the walk's state and in the facts.
void Rules::take(Walk& walk, const Step& step, std::size_t part, int number) {
    const Part& mine = step.parts[part];
    Walk::Seen& seen = walk.at(step.handle, mine.rank);
    const auto access = [&] {
        Access made;
        made.step = step.id;
        made.part = part;
        made.rank = mine.rank;
        made.handle = step.handle;
        made.direction = step.direction;
        made.atomic = walk.atomic[static_cast<std::size_t>(step.handle)];
        made.record = step.at == Positioning::shared;
        made.begin = number;
        made.end = step.kind == Kind::start ? INT_MAX : number;
        made.bytes = mine.bytes;
        made.known = walk.clock(mine.rank);
        made.refreshed = seen.refreshed;
        return made;
    };
    switch (step.kind) {
        case Kind::view:
            seen.view = mine.view;
            return;
        case Kind::access:
        case Kind::start:
            accesses.push_back(access());
            if (step.at != Positioning::shared)
                accesses.back().pieces = seen.view.range(mine.from, mine.bytes);
            return;
        case Kind::finish:
            if (const int found = find(step.refers, part); found >= 0)
                accesses[static_cast<std::size_t>(found)].end = number;
            return;
        // `resizes_` has one entry per step, not per rank.
        case Kind::size:
            if (part == 0) resizes_.push_back({access(), step.size});
            return;
        case Kind::get_size:
            size_queries_.push_back(access());
            return;
        case Kind::open:
            seen.refreshed = walk.clock(mine.rank);
            return;
        case Kind::sync:
            seen.refreshed = walk.clock(mine.rank);
            return flush(mine.rank, step.handle, number);
        case Kind::close:
            return flush(mine.rank, step.handle, number);
        default:
            return;
    }
}

/// Notes the step at which this rank's accesses through the handle have been flushed to the file.
void Rules::flush(Rank rank, int handle, int number) {
    const auto note = [&](Access& access) {
        if (access.rank == rank && access.handle == handle && access.end < number &&
            access.flushed == INT_MAX)
            access.flushed = number;
    };
    for (Access& access : accesses) note(access);
    for (Resize& resize : resizes_) note(resize.as);
}

void Rules::index_writers() {
    Offset end = 1;
    for (const Access& access : accesses) {
        has_log_ = has_log_ || access.record;
        for (const Piece& piece : access.pieces) end = std::max(end, piece.at + piece.length);
    }
    first_.assign(static_cast<std::size_t>(end) + 1, 0);
    const auto each_byte = [&](auto visit) {
        for (std::size_t i = 0; i < accesses.size(); ++i) {
            if (accesses[i].direction != Direction::write) continue;
            for (const Piece& piece : accesses[i].pieces) {
                for (Offset at = piece.at; at < piece.at + piece.length; ++at)
                    visit(static_cast<std::size_t>(at), i);
            }
        }
    };
    each_byte([&](std::size_t at, std::size_t) { ++first_[at + 1]; });
    for (std::size_t at = 1; at < first_.size(); ++at) first_[at] += first_[at - 1];
    writers_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    each_byte([&](std::size_t at, std::size_t access) {
        writers_[next[at]++] = static_cast<std::uint16_t>(access);
    });
}

void Rules::order() {
    std::vector<Access*> all;
    for (Access& access : accesses) all.push_back(&access);
    for (Resize& resize : resizes_) all.push_back(&resize.as);
    all.insert(all.end(), {&before_all_, &after_all_});
    ordered_ = all.size();
    for (std::size_t id = 0; id < ordered_; ++id) all[id]->id = id;
    order_.reserve(ordered_ * ordered_);
    for (const Access* const earlier : all) {
        for (const Access* const later : all) order_.push_back(is_before(*earlier, *later) ? 1 : 0);
    }
}

int Rules::find(int step, std::size_t part) const {
    const auto found = std::ranges::find_if(
        accesses, [&](const Access& access) { return access.step == step && access.part == part; });
    return found == accesses.end() ? -1 : static_cast<int>(found - accesses.begin());
}

std::byte Rules::value(int access, Offset at) const {
    const auto begin = first_[static_cast<std::size_t>(at)];
    const auto end = first_[static_cast<std::size_t>(at) + 1];
    for (std::uint32_t i = begin; i < end; ++i) {
        if (writers_[i] == access) return coded(at, static_cast<int>(i - begin));
    }
    return std::byte{0};
}

std::byte Rules::old_value(Offset at) const {
    return at < program_.setting.prefill ? coded(at, kValues - 1) : std::byte{0};
}

bool Rules::is_alone(int access, Offset at) const {
    const Access* const me = &accesses[static_cast<std::size_t>(access)];
    return !any_writer(at, [me](const Access& one) { return &one != me; });
}

void Rules::fail_resize(int step) {
    for (Resize& resize : resizes_) resize.as.failed |= resize.as.step == step;
}

/// Returns the access that wrote the value `found` at an offset; null if none did.
const Access* Rules::writer_of(Offset at, std::byte found) const {
    if (found == old_value(at)) return &before_all_;
    if (found == std::byte{0} || at >= data_end()) return nullptr;
    const int number = (static_cast<int>(found) - 1 - shift_of(at) + 2 * kValues) % kValues;
    const auto begin = first_[static_cast<std::size_t>(at)];
    if (number >= static_cast<int>(first_[static_cast<std::size_t>(at) + 1] - begin))
        return nullptr;
    return &accesses[writers_[begin + static_cast<std::uint32_t>(number)]];
}

std::string Rules::name(const Access& access) const {
    if (&access == &before_all_) return "the file's old byte";
    if (&access == &after_all_) return "the end";
    for (const Resize& resize : resizes_) {
        if (&resize.as == &access) return "a change of size";
    }
    const std::string kind = access.direction == Direction::read ? "read" : "write";
    std::string text = kind + " #" + std::to_string(access.step) + " of rank " +
                       std::to_string(access.rank) + " (handle " + std::to_string(access.handle);
    return text + (access.atomic ? ", atomic)" : ")");
}

std::string Rules::explain(const Access& reader, Offset at, std::byte found) const {
    std::string text = "\n  byte " + std::to_string(at) + ", seen by " + name(reader) + ", is " +
                       std::to_string(static_cast<int>(found)) + "; written there:";
    const auto line = [&](const Access& write, std::byte value) {
        const Access* by = nullptr;
        text += "\n    " + std::to_string(static_cast<int>(value)) + "  " + name(write);
        if (is_future(write, reader)) {
            text += " (later)";
        } else if (overwritten(write, reader, at, &by)) {
            text += " (overwritten by " + name(*by) + ")";
        } else {
            text += is_before(write, reader) ? " (before)" : " (maybe)";
        }
    };
    line(before_all_, old_value(at));
    any_writer(at, [&](const Access& write) {
        const auto index = &write - accesses.data();
        const bool real = index >= 0 && index < static_cast<std::ptrdiff_t>(accesses.size());
        line(write, real ? value(static_cast<int>(index), at) : std::byte{0});
        return false;
    });
    return text;
}

}  // namespace oratorio::oracle
