// SPDX-License-Identifier: BSD-3-Clause
#include "file/tracing.hpp"

#include <algorithm>
#include <cstring>

#include "plan/methods.hpp"

namespace oratorio {

namespace {

constexpr std::size_t kMessage = 64 << 10;
constexpr Tag kTag = 0;  // nothing else is under way when a file is closed

Result<void> send(Transport& transport, Rank to, std::span<const std::byte> data) {
    const auto started = transport.send(to, kTag, data);
    if (!started) return started.error();
    const auto done = wait(transport, *started);
    if (!done) return done.error();
    return {};
}

Result<void> receive(Transport& transport, Rank from, std::span<std::byte> into) {
    const auto started = transport.receive(from, kTag, into);
    if (!started) return started.error();
    const auto done = wait(transport, *started);
    if (!done) return done.error();
    return {};
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

template <class T>
std::span<std::byte> place_of(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

template <class T>
Result<void> send_all(Transport& transport, const std::vector<T>& all) {
    for (std::span<const T> left(all); !left.empty();) {
        const auto now = left.first(std::min(left.size(), kMessage / sizeof(T)));
        if (auto sent = send(transport, 0, std::as_bytes(now)); !sent) return sent;
        left = left.subspan(now.size());
    }
    return {};
}

template <class T, class Tell>
Result<void> receive_all(Transport& transport, Rank from, std::uint64_t count, const Tell& tell) {
    std::vector<T> some(std::min<std::size_t>(count, kMessage / sizeof(T)));
    for (std::uint64_t left = count; left > 0;) {
        const auto now = std::span(some).first(std::min<std::size_t>(left, some.size()));
        if (auto got = receive(transport, from, std::as_writable_bytes(now)); !got) return got;
        tell(std::span<const T>(now));
        left -= now.size();
    }
    return {};
}

Result<void> receive_shapes(Transport& transport, Rank from, const TraceHello& hello,
                            ShapeBook::Encoded& into) {
    into = {};
    const auto keep = [](auto& list) {
        return [&list](auto some) { list.insert(list.end(), some.begin(), some.end()); };
    };
    auto got = receive_all<Bytes>(transport, from, hello.shapes, keep(into.sizes));
    if (got) got = receive_all<std::byte>(transport, from, hello.shape_bytes, keep(into.bytes));
    return got;
}

/// Compares the clock of another rank with that of rank 0. Returns the most accurate of `times`
/// comparisons. REQUIRES: called by rank 0, while the other rank calls tell_clock().
Result<NodeClock> ask_clock(Transport& transport, Rank other, int times) {
    NodeClock best;
    best.within = INT64_MAX;
    for (int i = 0; i < times; ++i) {
        Nanoseconds theirs = 0;
        const Nanoseconds before = Recorder::now();
        if (auto sent = send(transport, other, bytes_of(theirs)); !sent) return sent.error();
        if (auto got = receive(transport, other, place_of(theirs)); !got) return got.error();
        const Nanoseconds after = Recorder::now();
        const Nanoseconds within = (after - before + 1) / 2;
        if (within < best.within) best = {theirs - (before + within), within};
    }
    return best;
}

Result<void> tell_clock(Transport& transport, int times) {
    for (int i = 0; i < times; ++i) {
        Nanoseconds mine = 0;
        if (auto got = receive(transport, 0, place_of(mine)); !got) return got;
        mine = Recorder::now();
        if (auto sent = send(transport, 0, bytes_of(mine)); !sent) return sent;
    }
    return {};
}

}  // namespace

std::string_view name_of(Routine routine) {
    constexpr std::string_view kNames[] = {"open",        "set_view", "set_size",
                                           "preallocate", "sync",     "close"};
    return kNames[static_cast<std::size_t>(routine)];
}

Pattern pattern_of(const Layout& layout) {
    Pattern pattern;
    const Shape* shape = layout.shape.get();
    pattern.displacement = layout.origin;
    pattern.extent = layout.extent;
    pattern.tiles = layout.count == Layout::unbounded ? -1 : layout.count;
    pattern.tile_bytes = shape->size();
    pattern.pieces = shape->pieces();
    int levels = 0;
    while (true) {
        const bool moved = shape->kind() == Shape::Kind::blocks && shape->count() == 1;
        if (moved) {
            pattern.first += shape->part_offset(0);
        } else if (shape->kind() == Shape::Kind::strided && levels < Pattern::levels_max) {
            pattern.level[static_cast<std::size_t>(levels++)] = {shape->count(), shape->stride()};
        } else {
            break;
        }
        shape = shape->child().get();
    }
    if (!shape->contiguous()) return pattern;
    pattern.block = shape->size();
    pattern.levels = levels;
    return pattern;
}

Tracing::Tracing(const TraceCall& call, const Stats& stats, int ranks)
    : call_(call),
      recorder_(stats, Recorder::limits_for(ranks)),
      shapes_(Recorder::limits_for(ranks).shapes, Recorder::limits_for(ranks).shape_numbers),
      calls_max_(Recorder::limits_for(ranks).accesses) {
    calls_.reserve(calls_max_ + 1);
}

void Tracing::add_call(Routine routine, Nanoseconds begin) {
    if (calls_.size() < calls_max_ || routine == Routine::close) {
        calls_.push_back({begin, Recorder::now(), routine});
    } else {
        ++dropped_calls_;
    }
}

void Tracing::describe(const TracedAccess& traced, const Access& access) {
    AccessRecord* const record = recorder_.find(traced.number());
    traced.work();
    if (record == nullptr) return;
    record->asked = access.bytes();
    if (access.bytes() == 0) return;
    const AccessSummary summary = summarise(access, false);
    record->hull = summary.hull;
    record->pieces = summary.pieces;
    record->memory_pieces = summary.memory_pieces;
    record->from = access.from;
    record->file = pattern_of(access.file);
    record->memory = pattern_of(access.memory);
    if (record->collective < 0) return;
    record->file_shape = shapes_.number_of(access.file.shape);
    record->memory_shape = shapes_.number_of(access.memory.shape);
    if (record->file_shape == ShapeBook::none || record->memory_shape == ShapeBook::none)
        ++dropped_layouts_;
}

void Tracing::planned(const Plan& plan) {
    AccessRecord* const record = recorder_.find(recorder_.current());
    if (record == nullptr) return;
    const std::string_view name = plan.method->name;
    record->method = {};
    std::memcpy(record->method.data(), name.data(),
                std::min(name.size(), record->method.size() - 1));
    record->aggregators = static_cast<std::int32_t>(plan.aggregators.size());
    record->participants = plan.ranks_with_data;
    record->rounds = plan.rounds;
}

TraceHello Tracing::hello(Rank rank) const {
    return {.who = call_.who < 0 ? rank : call_.who,
            .track = call_.track,
            .accesses = recorder_.accesses().size(),
            .spans = recorder_.spans().size(),
            .dropped_accesses = recorder_.dropped_accesses(),
            .dropped_spans = recorder_.dropped_spans(),
            .dropped_layouts = dropped_layouts_,
            .calls = calls_.size(),
            .dropped_calls = dropped_calls_};
}

Result<std::vector<NodeClock>> compare_clocks(Transport& transport) {
    constexpr int kTimes = 8;
    const Topology& topology = transport.topology();
    std::vector<NodeClock> clocks(static_cast<std::size_t>(topology.nodes()));
    int node = 1;
    for (Rank rank = 0; rank < topology.size; ++rank) {
        if (topology.node(rank) != node) continue;
        if (topology.rank == 0) {
            const auto clock = ask_clock(transport, rank, kTimes);
            if (!clock) return clock.error();
            clocks[static_cast<std::size_t>(node)] = *clock;
        } else if (topology.rank == rank) {
            if (auto told = tell_clock(transport, kTimes); !told) return told.error();
        }
        ++node;
    }
    return clocks;
}

Result<void> tell_root(Transport& transport, Tracing& mine, const TraceTeller& teller) {
    TraceHello hello = mine.hello(transport.topology().rank);
    Recorder& recorder = mine.recorder();
    ShapeBook::Encoded shapes = mine.shapes().encoded();
    hello.shapes = shapes.sizes.size();
    hello.shape_bytes = shapes.bytes.size();
    if (transport.topology().rank != 0) {
        if (auto sent = send(transport, 0, bytes_of(hello)); !sent) return sent;
        if (auto sent = send_all(transport, shapes.sizes); !sent) return sent;
        if (auto sent = send_all(transport, shapes.bytes); !sent) return sent;
        if (auto sent = send_all(transport, recorder.accesses()); !sent) return sent;
        if (auto sent = send_all(transport, recorder.spans()); !sent) return sent;
        return send_all(transport, mine.calls());
    }
    teller.begin(0, hello);
    teller.shapes(shapes);
    teller.accesses(recorder.accesses());
    teller.spans(recorder.spans());
    teller.calls(mine.calls());
    for (Rank rank = 1; rank < transport.topology().size; ++rank) {
        TraceHello theirs;
        if (auto got = receive(transport, rank, place_of(theirs)); !got) return got;
        teller.begin(rank, theirs);
        auto got = receive_shapes(transport, rank, theirs, shapes);
        if (!got) return got;
        teller.shapes(shapes);
        got = receive_all<AccessRecord>(transport, rank, theirs.accesses, teller.accesses);
        if (got) got = receive_all<Span>(transport, rank, theirs.spans, teller.spans);
        if (got) got = receive_all<CallRecord>(transport, rank, theirs.calls, teller.calls);
        if (!got) return got;
    }
    return {};
}

}  // namespace oratorio
