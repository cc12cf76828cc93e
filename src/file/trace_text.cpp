// SPDX-License-Identifier: BSD-3-Clause
#include "file/trace_text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <span>
#include <string_view>

namespace oratorio {

namespace {

constexpr int kSlots = 32;     ///< tracks of one lane: the first for accesses, the others for slots
constexpr int kCallLane = 32;  ///< the lane of calls; those before it are lanes of accesses
constexpr int kLanes = kCallLane + 1;  ///< lanes of one open file
/// The number of the first track. Viewers take thread 0, and the thread with the process's number,
/// for the process's main thread, so tracks with these two numbers would become one.
constexpr int kFirstThread = 100'000;

constexpr std::string_view kCounters[] = {
#define COUNTER(name, unit, description) #name,
#include "stats/counters.def"
#undef COUNTER
};

std::string number(std::int64_t value) {
    return std::to_string(value);
}

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

std::string field(const char* name, std::int64_t value) {
    return std::string(",\"") + name + "\":" + number(value);
}

/// Formats a time in microseconds.
std::string time_text(Nanoseconds time) {
    char text[40];
    const Nanoseconds size = time < 0 ? -time : time;
    std::snprintf(text, sizeof text, "%s%lld.%03lld", time < 0 ? "-" : "",
                  static_cast<long long>(size / 1000), static_cast<long long>(size % 1000));
    return text;
}

std::string pattern_text(const Pattern& pattern) {
    std::string text = "{\"displacement\":" + number(pattern.displacement) +
                       field("extent", pattern.extent) +
                       ",\"tiles\":" + (pattern.tiles < 0 ? "null" : number(pattern.tiles)) +
                       field("tile_bytes", pattern.tile_bytes) + field("pieces", pattern.pieces);
    if (pattern.levels < 0) return text;
    text += field("first", pattern.first) + field("block", pattern.block) + ",\"levels\":[";
    for (int i = 0; i < pattern.levels; ++i) {
        const Pattern::Level& level = pattern.level[static_cast<std::size_t>(i)];
        text += (i > 0 ? ",[" : "[") + number(level.count) + "," + number(level.stride) + "]";
    }
    return text + "]";
}

/// Encodes bytes in base64 (RFC 4648, 4).
std::string base64(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 3; ++j)
            bits = bits << 8 | (j < count ? static_cast<std::uint32_t>(bytes[i + j]) : 0);
        for (std::size_t j = 0; j < 4; ++j)
            text += j <= count ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

std::string counts_text(const AccessRecord& access) {
    std::string text;
    for (std::size_t row = 0; row < access.counts.size(); ++row) {
        if (access.counts[row] == 0) continue;
        text += (text.empty() ? "\"" : ",\"") + std::string(kCounters[row]) +
                "\":" + number(access.counts[row]);
    }
    return "{" + text + "}";
}

std::string flag(const char* name, bool is_set) {
    return is_set ? std::string(",\"") + name + "\":true" : "";
}

/// Returns [[node, number of consecutive ranks on it], ...].
std::string placement(const Nodes& nodes) {
    std::string text;
    int node = -1;
    std::int64_t ranks = 0;
    const auto add = [&] {
        if (ranks > 0)
            text += (text.empty() ? "[" : ",[") + number(std::int64_t{node}) + "," + number(ranks) +
                    "]";
    };
    nodes.node_of.each([&](Rank, NodeSlot slot) {
        if (slot.node != node) {
            add();
            node = slot.node;
            ranks = 0;
        }
        ++ranks;
    });
    add();
    return "[" + text + "]";
}

Nanoseconds clock_of_day() {
    using std::chrono::system_clock;
    return std::chrono::nanoseconds(system_clock::now().time_since_epoch()).count();
}

}  // namespace

TraceText::TraceText(TraceFile& file, const Nodes& nodes, std::vector<NodeClock> clocks)
    : file_(file),
      nodes_(nodes),
      clocks_(std::move(clocks)),
      unix_(clock_of_day() - Recorder::now()),
      number_(number(file.number())) {}

void TraceText::add_file(const std::string& path, const std::string& location,
                         const HintMap& hints) {
    name_ = path.substr(path.rfind('/') + 1);
    std::string text = R"({"ph":"M","pid":0,"name":"oratorio_file","args":{"file":)" + number_ +
                       ",\"path\":" + quoted(path) + ",\"location\":" + quoted(location) +
                       field("ranks", nodes_.size) + ",\"placement\":" + placement(nodes_) +
                       ",\"nodes\":[";
    for (std::size_t node = 0; node < clocks_.size(); ++node) {
        const bool named = node < nodes_.node_names.size();
        text += std::string(node > 0 ? "," : "") +
                "{\"name\":" + quoted(named ? nodes_.node_names[node] : "") +
                field("clock_ahead_ns", clocks_[node].ahead) +
                field("within_ns", clocks_[node].within) + "}";
    }
    text += "],\"hints\":{";
    bool first = true;
    for (const auto& [key, value] : hints) {
        text += (first ? "" : ",") + quoted(key) + ":" + quoted(value);
        first = false;
    }
    file_.add(text + "}}}");
}

void TraceText::begin_rank(Rank rank, const TraceHello& hello) {
    const auto node = static_cast<std::size_t>(nodes_.node(rank));
    ahead_ = clocks_[node].ahead - unix_ + file_.began() * 1000;
    rank_ = rank;
    hello_ = hello;
    accesses_ += hello.accesses;
    spans_ += hello.spans;
    dropped_accesses_ += hello.dropped_accesses;
    dropped_spans_ += hello.dropped_spans;
    dropped_layouts_ += hello.dropped_layouts;
    calls_ += hello.calls;
    dropped_calls_ += hello.dropped_calls;
    lanes_.clear();
    named_.assign(static_cast<std::size_t>(kLanes * kSlots), false);
    name_process();
}

void TraceText::name_process() {
    const auto node = static_cast<std::size_t>(nodes_.node(rank_));
    std::string name = "rank " + number(std::int64_t{hello_.who});
    if (node < nodes_.node_names.size() && !nodes_.node_names[node].empty())
        name += " (" + nodes_.node_names[node] + ")";
    const std::string head = "{\"ph\":\"M\",\"pid\":" + number(std::int64_t{hello_.who});
    file_.add(head + R"(,"name":"process_name","args":{"name":)" + quoted(name) + "}}");
    file_.add(head + R"(,"name":"process_sort_index","args":{"sort_index":)" +
              number(std::int64_t{hello_.who}) + "}}");
    if (hello_.dropped_accesses + hello_.dropped_spans + hello_.dropped_layouts +
            hello_.dropped_calls >
        0) {
        file_.add(head + R"(,"name":"oratorio_dropped","args":{"file":)" + number_ +
                  field("rank", rank_) +
                  field("accesses", static_cast<std::int64_t>(hello_.dropped_accesses)) +
                  field("spans", static_cast<std::int64_t>(hello_.dropped_spans)) +
                  field("layouts", static_cast<std::int64_t>(hello_.dropped_layouts)) +
                  field("calls", static_cast<std::int64_t>(hello_.dropped_calls)) + "}}");
    }
}

/// Returns the fields that say on which track an event is. Writes the track's name before its first
/// event.
std::string TraceText::at(int lane, int slot) {
    const int track = std::min(lane, kLanes - 1) * kSlots + std::min(slot, kSlots - 1);
    const int thread = kFirstThread + hello_.track * kLanes * kSlots + track;
    if (!named_[static_cast<std::size_t>(track)]) {
        named_[static_cast<std::size_t>(track)] = true;
        name_track(thread, lane, slot);
    }
    return ",\"pid\":" + number(std::int64_t{hello_.who}) +
           ",\"tid\":" + number(std::int64_t{thread});
}

void TraceText::name_track(int thread, int lane, int slot) {
    std::string name = name_;
    if (lane == kCallLane) {
        name += ", open to close";
    } else if (lane > 0) {
        name += ", concurrent lane " + number(std::int64_t{lane});
    }
    if (slot > 0) name += ", slot " + number(std::int64_t{slot - 1});
    const std::string head = "{\"ph\":\"M\",\"pid\":" + number(std::int64_t{hello_.who}) +
                             ",\"tid\":" + number(std::int64_t{thread});
    file_.add(head + R"(,"name":"thread_name","args":{"name":)" + quoted(name) + "}}");
    file_.add(head + R"(,"name":"thread_sort_index","args":{"sort_index":)" +
              number(std::int64_t{thread}) + "}}");
}

std::string TraceText::times(Nanoseconds begin, Nanoseconds end) const {
    return ",\"ts\":" + time_text(begin - ahead_) +
           ",\"dur\":" + time_text(std::max<Nanoseconds>(end - begin, 0));
}

std::string TraceText::layout_text(const Pattern& pattern, std::int32_t shape) const {
    const std::string text = pattern_text(pattern);
    if (shape == ShapeBook::none) return text + "}";
    return text + field("shape", numbers_[static_cast<std::size_t>(shape)]) + "}";
}

std::string TraceText::arguments_of(const AccessRecord& access) const {
    std::string text;
    if (access.collective >= 0) text += field("collective", access.collective);
    text += std::string(",\"direction\":\"") + name_of(access.direction) + "\"";
    text += flag("started", access.started) + flag("shared", access.shared);
    if (access.method.front() != '\0') {
        text += ",\"method\":" + quoted(access.method.data()) +
                field("aggregators", access.aggregators) +
                field("participants", access.participants) + field("rounds", access.rounds);
    }
    text += field("asked", access.asked) + field("moved", access.moved);
    if (access.error != ErrorKind::none)
        text += ",\"error\":" + quoted(describe(Error::make(access.error, ""), ""));
    if (access.asked > 0) {
        text += ",\"hull\":[" + number(access.hull.begin) + "," + number(access.hull.end) + "]" +
                field("pieces", access.pieces) + field("memory_pieces", access.memory_pieces) +
                field("from", access.from) +
                ",\"view\":" + layout_text(access.file, access.file_shape) +
                ",\"memory\":" + layout_text(access.memory, access.memory_shape);
    }
    return text + ",\"counts\":" + counts_text(access);
}

void TraceText::add_shapes(const ShapeBook::Encoded& shapes) {
    numbers_.clear();
    std::span<const std::byte> left(shapes.bytes);
    for (const Bytes size : shapes.sizes) {
        const auto mine = left.first(static_cast<std::size_t>(size));
        left = left.subspan(mine.size());
        const std::string_view text(reinterpret_cast<const char*>(mine.data()), mine.size());
        const auto [known, is_new] = shapes_.try_emplace(
            {mine.size(), std::hash<std::string_view>{}(text)}, std::ssize(shapes_));
        numbers_.push_back(known->second);
        if (!is_new) continue;
        file_.add(R"({"ph":"M","pid":0,"name":"oratorio_shape","args":{"file":)" + number_ +
                  field("shape", known->second) + ",\"bytes\":\"" + base64(mine) + "\"}}");
    }
}

void TraceText::add_accesses(std::span<const AccessRecord> some) {
    for (const AccessRecord& access : some) {
        const std::string place = at(access.lane, 0);
        const std::string name =
            std::string(access.collective < 0 ? "independent " : "collective ") +
            name_of(access.direction);
        file_.add("{\"ph\":\"X\",\"cat\":\"access\",\"name\":\"" + name + "\"" + place +
                  times(access.begin, access.end) + ",\"args\":{\"file\":" + number_ +
                  field("rank", rank_) + field("access", std::ssize(lanes_)) +
                  arguments_of(access) + "}}");
        lanes_.push_back(access.lane);
    }
}

void TraceText::add_spans(std::span<const Span> some) {
    for (const Span& span : some) {
        const std::string place = at(lanes_[static_cast<std::size_t>(span.access)], span.lane);
        std::string args = "{\"file\":" + number_ + field("access", span.access);
        if (category_of(span.activity) == "round") args += field("round", span.detail);
        if (span.activity == Activity::message) args += field("bytes", span.detail);
        if (span.joined > 1) args += field("joined", span.joined);
        file_.add("{\"ph\":\"X\",\"cat\":\"" + std::string(category_of(span.activity)) +
                  "\",\"name\":\"" + std::string(name_of(span.activity)) + "\"" + place +
                  times(span.begin, span.end) + ",\"args\":" + args + "}}");
    }
}

void TraceText::add_calls(std::span<const CallRecord> some) {
    for (const CallRecord& call : some) {
        const std::string place = at(kCallLane, 0);
        file_.add("{\"ph\":\"X\",\"cat\":\"call\",\"name\":\"" +
                  std::string(name_of(call.routine)) + "\"" + place + times(call.begin, call.end) +
                  ",\"args\":{\"file\":" + number_ + field("rank", rank_) + "}}");
    }
}

void TraceText::end() {
    file_.add(R"({"ph":"M","pid":0,"name":"oratorio_end","args":{"file":)" + number_ +
              ",\"accesses\":" + number(accesses_) + ",\"spans\":" + number(spans_) +
              ",\"dropped_accesses\":" + number(dropped_accesses_) +
              ",\"dropped_spans\":" + number(dropped_spans_) +
              ",\"dropped_layouts\":" + number(dropped_layouts_) + ",\"calls\":" + number(calls_) +
              ",\"dropped_calls\":" + number(dropped_calls_) + "}}");
}

}  // namespace oratorio
