// SPDX-License-Identifier: BSD-3-Clause
// Generates the program of a seed. In most programs no two ranks touch the same byte, so that the
// rules say exactly which byte must be where. Accesses are often repeated, because the library
// caches plans for repeated accesses.
#include <algorithm>
#include <numeric>

#include "oracle/generator.hpp"

namespace oratorio::oracle {

namespace {

/// Returns the access, moved or shortened so that it ends at kDataEnd at the latest.
Part clamped(Part part, const Tiles& view) {
    const auto end = [&] {
        const auto pieces = view.range(part.from, std::max<Bytes>(part.bytes, 1));
        return pieces.back().at + pieces.back().length;
    };
    if (end() > kDataEnd) part.from %= view.size();
    while (end() > kDataEnd && part.bytes > 0) part.bytes /= 2;
    return part;
}

}  // namespace

/// Sets the same view once more, which drops the handle's cached plans.
void Generator::renew_view(int handle) {
    finish_all(handle);
    Step& step = add(Kind::view, handle);
    for (std::size_t m = 0; m < step.parts.size(); ++m) step.parts[m].view = state(handle).views[m];
}

Tiles Generator::view_of(std::size_t owner) {
    if (chance(is_atomic() ? 20 : 4))
        // This view overlaps those of other ranks.
        return {random_.between(0, 3000), 1, {{0, 1}}};
    // Ranks with the view of the same owner write the same bytes, in pieces, so that an atomic
    // write takes several storage calls.
    if (is_atomic() && chance(60)) owner = random_.below(owned_.size());
    return owned_[owner];
}

Step& Generator::add(Kind kind, int handle) {
    Step step;
    step.id = steps_++;
    step.kind = kind;
    step.handle = handle;
    if (handle >= 0) {
        for (const Rank rank : this->handle(handle).members) step.parts.push_back({rank, {}, 0, 0});
    }
    step.collective = true;
    program_.steps.push_back(std::move(step));
    return program_.steps.back();
}

void Generator::open_all() {
    states_.resize(program_.handles.size());
    std::vector<int> order(program_.handles.size());
    std::iota(order.begin(), order.end(), 0);
    // In some programs the first handle to be opened is not the one that all ranks share. This is
    // drawn from a seed of its own, so that it leaves the rest of the program as it is.
    test::Random dice(program_.seed * 0xd1342543de82ef95ULL + 3);
    if (dice.chance(30)) std::swap(order[0], order[dice.below(order.size())]);
    if (features_.partial_handles) {
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[dice.below(i)]);
    }
    for (const int h : order) {
        add(Kind::open, h);
        set_view(h);
        if (chance(is_atomic() ? 70 : 10)) set_atomic(h);
    }
}

void Generator::set_view(int handle) {
    finish_all(handle);
    Step& step = add(Kind::view, handle);
    std::size_t owner = 0;
    for (int h = 0; h < handle; ++h)
        owner += this->handle(h).log ? 0 : this->handle(h).members.size();
    State& now = state(handle);
    now.views.clear();
    now.shape.clear();
    for (Part& part : step.parts) {
        part.view = this->handle(handle).log ? Tiles{kLogBegin, 1, {{0, 1}}} : view_of(owner++);
        now.views.push_back(part.view);
    }
}

int Generator::data_handle() {
    int candidates = 0;
    for (const Handle& handle : program_.handles) candidates += handle.log ? 0 : 1;
    return chance(50) ? 0 : below(candidates);
}

void Generator::new_shape(int handle) {
    State& now = state(handle);
    now.shape.clear();
    const Bytes extent = now.views[0].extent;
    const Bytes tiles = std::max<Bytes>(1, random_.between(1, 12000) / extent);
    const Bytes first = random_.between(0, std::max<Bytes>(0, 10000 / extent));
    for (std::size_t m = 0; m < now.views.size(); ++m) {
        const Bytes size = now.views[m].size();
        Part part{this->handle(handle).members[m], {}, first * size, tiles * size};
        if (now.views[m].extent != extent) part = {part.rank, {}, first, random_.between(1, 400)};
        if (chance(12)) part.bytes = 0;
        if (chance(12)) part.bytes = random_.between(0, part.bytes);
        if (chance(8)) part.from += random_.between(0, size);
        part.bytes = std::min<Bytes>(part.bytes, 1200);
        now.shape.push_back(clamped(part, now.views[m]));
    }
}

void Generator::collective() {
    const int h = data_handle();
    State& now = state(h);
    if (now.shape.empty() || chance(25)) {
        new_shape(h);
        // The same access further on in the file can use the cached plan.
    } else if (chance(30)) {
        for (std::size_t m = 0; m < now.shape.size(); ++m) {
            now.shape[m].from += now.views[m].size();
            now.shape[m] = clamped(now.shape[m], now.views[m]);
        }
    }
    if (now.split) finish_all(h);
    if (features_.fresh_views) renew_view(h);
    const bool waits = chance(60);
    Step& step = add(waits ? Kind::access : Kind::start, h);
    step.parts = now.shape;
    step.direction = chance(55) ? Direction::write : Direction::read;
    step.at = chance(70) ? Positioning::explicit_offset : Positioning::individual;
    step.split = !waits && chance(40);
    if (waits) return;
    now.split = now.split || step.split;
    now.starts.push_back(step.id);
}

Part Generator::part_of(int handle, std::size_t member) {
    State& now = state(handle);
    if (now.shape.empty()) new_shape(handle);
    Part part = now.shape[member];
    if (part.bytes == 0 || chance(25)) {
        part.from = random_.between(0, std::max<Bytes>(1, now.views[member].size() * 3));
        part.bytes = random_.between(1, 200);
    } else if (chance(50)) {
        const Bytes skip = random_.between(0, part.bytes - 1);
        part.from += skip;
        part.bytes = random_.between(1, part.bytes - skip);
    }
    return clamped(part, now.views[member]);
}

void Generator::independent() {
    const int h = data_handle();
    const auto member = random_.below(handle(h).members.size());
    const Part part = part_of(h, member);
    Step& step = add(chance(75) ? Kind::access : Kind::start, h);
    step.parts = {part};
    step.collective = false;
    step.direction = chance(65) ? Direction::write : Direction::read;
    step.at = chance(70) ? Positioning::explicit_offset : Positioning::individual;
    if (step.kind == Kind::start) state(h).starts.push_back(step.id);
}

/// Adds a blocking access of one rank. Where ranks die, all accesses are of this kind, because no
/// rank may wait for a dead one.
void Generator::act_alone() {
    independent();
    Step& step = program_.steps.back();
    step.kind = Kind::access;
    state(step.handle).starts.clear();
}

/// Makes some ranks write their own data independently, and then all ranks access that data
/// collectively.
void Generator::own_then_together() {
    const int h = data_handle();
    State& now = state(h);
    if (now.split) finish_all(h);
    if (now.shape.empty()) new_shape(h);
    const std::vector<Part> shape = now.shape;
    const auto direction = chance(60) ? Direction::read : Direction::write;
    for (int times = 1 + below(3); times > 0; --times) {
        for (const Part& part : shape) {
            if (part.bytes == 0 || chance(30)) continue;
            Step& own = add(Kind::access, h);
            own.collective = false;
            own.direction = Direction::write;
            own.parts = {part};
        }
        if (features_.fresh_views) renew_view(h);
        Step& all = add(Kind::access, h);
        all.direction = direction;
        all.parts = shape;
        for (Part& part : all.parts) {
            if (direction == Direction::write && chance(30)) part.bytes /= 2;
        }
    }
}

/// Starts a nonblocking access on a handle of a rank, and adds a blocking one, often on another
/// handle, before the first finishes.
void Generator::under_way() {
    const int one = data_handle();
    const auto member = random_.below(handle(one).members.size());
    const Rank rank = handle(one).members[member];
    std::vector<int> others;
    for (int h = 0; h < static_cast<int>(program_.handles.size()); ++h) {
        if (!handle(h).log && std::ranges::find(handle(h).members, rank) != handle(h).members.end())
            others.push_back(h);
    }
    const bool together = chance(50);
    if (together) {
        if (state(one).split) finish_all(one);
        if (state(one).shape.empty()) new_shape(one);
        if (features_.fresh_views) renew_view(one);
    }
    const Part part = part_of(one, member);
    Step& start = add(Kind::start, one);
    start.direction = chance(80) ? Direction::write : Direction::read;
    start.collective = together;
    start.parts = together ? state(one).shape : std::vector<Part>{part};
    // Other accesses may write the bytes that this one leaves out while it is under way.
    for (Part& given : start.parts) {
        if (together && chance(40)) given.bytes /= 2;
    }
    state(one).starts.push_back(start.id);
    if (chance(60)) {
        Step& step = add(Kind::poll, -1);
        step.collective = false;
        step.parts = {{rank, {}, 0, 0}};
    }
    const int other = chance(40) ? one : others[random_.below(others.size())];
    const auto& members = handle(other).members;
    const Part more = part_of(
        other, static_cast<std::size_t>(std::ranges::find(members, rank) - members.begin()));
    Step& step = add(Kind::access, other);
    step.collective = false;
    step.direction = chance(80) ? Direction::write : Direction::read;
    step.parts = {more};
}

/// Adds a write with the shared file pointer, on the handle reserved for such writes; in programs
/// without that handle, an independent access.
void Generator::records() {
    const int h = static_cast<int>(program_.handles.size()) - 1;
    if (!handle(h).log) return independent();
    State& now = state(h);
    const bool ordered = chance(40);
    if (ordered && now.split) finish_all(h);
    Step& step = add(chance(70) ? Kind::access : Kind::start, h);
    step.collective = ordered;
    step.direction = Direction::write;
    step.at = Positioning::shared;
    if (!ordered)
        step.parts = {{handle(h).members[random_.below(handle(h).members.size())], {}, 0, 0}};
    for (Part& part : step.parts) part.bytes = random_.between(ordered && chance(20) ? 0 : 6, 150);
    for (Part& part : step.parts) part.bytes = part.bytes < 6 ? 0 : part.bytes;
    if (step.kind == Kind::access) return;
    step.split = ordered && (features_.routines || chance(50));
    now.split = now.split || step.split;
    now.starts.push_back(step.id);
}

void Generator::finish(int handle, std::size_t which) {
    State& now = state(handle);
    const int id = now.starts[which];
    now.starts.erase(now.starts.begin() + static_cast<std::ptrdiff_t>(which));
    const auto start = std::ranges::find(program_.steps, id, &Step::id);
    Step step = *start;
    step.id = steps_++;
    step.kind = Kind::finish;
    step.refers = id;
    if (step.split) now.split = false;
    program_.steps.push_back(std::move(step));
}

void Generator::finish_all(int handle) {
    while (!state(handle).starts.empty())
        finish(handle, random_.below(state(handle).starts.size()));
}

void Generator::sync(int handle) {
    finish_all(handle);
    add(Kind::sync, handle);
}

void Generator::sync_barrier_sync() {
    const int handles = static_cast<int>(program_.handles.size());
    for (int h = 0; h < handles; ++h) {
        if (!handle(h).log) sync(h);
    }
    add(Kind::barrier, -1);
    for (int h = 0; h < handles; ++h) {
        if (!handle(h).log) sync(h);
    }
    for (int h = 0; h < handles; ++h) {
        if (!handle(h).log) add(Kind::get_size, h).collective = false;
    }
}

void Generator::set_atomic(int handle) {
    finish_all(handle);
    Step& step = add(Kind::atomic, handle);
    step.on = state(handle).atomic = !state(handle).atomic;
}

/// Adds a change of the file's size, between synchronisations of all ranks, so that no access is
/// concurrent with it.
void Generator::set_size() {
    if (program_.handles.back().log) return;
    sync_barrier_sync();
    int h = below(static_cast<int>(program_.handles.size()));
    // A node keeps the old size if none of its ranks takes part, so all ranks must.
    if (facts_of(program_.setting.client).size_stays) h = 0;
    add(Kind::size, h).size = random_.between(0, kDataEnd);
    sync_barrier_sync();
}

/// Adds a message from one rank to another; nothing if there is only one rank.
void Generator::message() {
    if (program_.ranks == 1) return;
    Step& step = add(Kind::message, -1);
    step.from = below(program_.ranks);
    step.to = (step.from + 1 + below(program_.ranks - 1)) % program_.ranks;
}

void Generator::act() {
    const int dice = below(100);
    if (dice < 25) return collective();
    if (dice < 48) return independent();
    if (dice < 55) return under_way();
    if (dice < 67) return own_then_together();
    if (dice < 74) return records();
    if (dice < 78) return message();
    if (dice < 80) return sync(data_handle());
    if (dice < 82) return sync_barrier_sync();
    if (dice < 84) return set_view(data_handle());
    const int h = below(static_cast<int>(program_.handles.size()));
    if (dice < 86) return set_atomic(h);
    if (dice < 87) return set_size();
    if (dice < 91) {
        Step& step = add(Kind::poll, -1);
        step.collective = false;
        step.parts = {{below(program_.ranks), {}, 0, 0}};
        return;
    }
    if (dice < 92) {
        add(Kind::barrier, -1);
        return;
    }
    if (!state(h).starts.empty()) finish(h, random_.below(state(h).starts.size()));
}

Program Generator::make() {
    setting();
    handles();
    deal();
    open_all();
    const int wanted = program_.ranks * (5 + below(16));
    for (int acts = 0; acts < 60 && program_.accesses() < wanted; ++acts)
        features_.deaths ? act_alone() : act();
    // A dead rank cannot take part in closing the files, so such a program leaves them open.
    if (features_.deaths) return std::move(program_);
    for (int h = 0; h < static_cast<int>(program_.handles.size()); ++h) {
        finish_all(h);
        add(Kind::close, h);
    }
    scarcity();
    return std::move(program_);
}

Program make_program(std::uint64_t seed, const Features& features) {
    return Generator(seed, features).make();
}

}  // namespace oratorio::oracle
