// SPDX-License-Identifier: BSD-3-Clause
// Tracing: what an open file records for ORATORIO_TRACE, and how the ranks put it together when the
// file is closed. Private to src/file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/transport.hpp"
#include "file/file.hpp"
#include "file/shape_book.hpp"
#include "plan/plan.hpp"
#include "stats/recorder.hpp"

namespace oratorio {

/// A node's clock, compared with the clock of rank 0's node.
struct NodeClock {
    Nanoseconds ahead = 0;   ///< how far this clock is ahead of rank 0's
    Nanoseconds within = 0;  ///< `ahead` may be wrong by this much; 0: the same clock
};

/// The routines that move no data, but are recorded in a trace.
enum class Routine : std::int64_t { open, set_view, set_size, preallocate, sync, close };
[[nodiscard]] std::string_view name_of(Routine routine);

/// A record of one call of a routine. It is sent to rank 0 as bytes.
struct CallRecord {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Routine routine = Routine::open;
};

/// Header of one rank's part of a trace. Its shapes, accesses, spans and calls follow. Sent as
/// bytes.
struct TraceHello {
    std::int32_t who = 0;    ///< number of the process in the trace
    std::int32_t track = 0;  ///< number of the file among those that the process has open
    std::uint64_t accesses = 0;
    std::uint64_t spans = 0;
    std::uint64_t dropped_accesses = 0;
    std::uint64_t dropped_spans = 0;
    std::uint64_t dropped_layouts = 0;  ///< collective accesses with a layout that wasn't kept
    std::uint64_t shapes = 0;
    std::uint64_t shape_bytes = 0;  ///< total length of all encoded shapes
    std::uint64_t calls = 0;
    std::uint64_t dropped_calls = 0;
};

class Tracing {
  public:
    Tracing(const TraceCall& call, const Stats& stats, int ranks);

    [[nodiscard]] Recorder& recorder() { return recorder_; }
    [[nodiscard]] const ShapeBook& shapes() const { return shapes_; }
    [[nodiscard]] const TraceCall& call() const { return call_; }
    [[nodiscard]] const std::vector<CallRecord>& calls() const { return calls_; }
    /// Records a call that ends now. Beyond the limit, which is that of accesses, calls are counted
    /// but not kept. A close is always kept.
    void add_call(Routine routine, Nanoseconds begin);
    /// Records the place and the memory of an access.
    void describe(const TracedAccess& traced, const Access& access);
    /// Records the plan of the access that is being worked on.
    void planned(const Plan& plan);
    /// Returns the header, with the counts of shapes still 0.
    [[nodiscard]] TraceHello hello(Rank rank) const;

  private:
    TraceCall call_;
    Recorder recorder_;
    ShapeBook shapes_;
    std::vector<CallRecord> calls_;
    std::size_t calls_max_;
    std::uint64_t dropped_layouts_ = 0;
    std::uint64_t dropped_calls_ = 0;
};

/// Summarizes a layout in a few numbers.
[[nodiscard]] Pattern pattern_of(const Layout& layout);

/// Collective. Compares the clock of each node with rank 0's. The result is valid on rank 0 only.
Result<std::vector<NodeClock>> compare_clocks(Transport& transport);

/// Functions that receive the parts of the trace on rank 0, rank by rank: the header first, then
/// the shapes, accesses, spans and calls that it counts.
struct TraceTeller {
    std::function<void(Rank, const TraceHello&)> begin;
    std::function<void(const ShapeBook::Encoded&)> shapes;
    std::function<void(std::span<const AccessRecord>)> accesses;
    std::function<void(std::span<const Span>)> spans;
    std::function<void(std::span<const CallRecord>)> calls;
};
/// Collective. Sends the parts of all ranks to rank 0, in rank order and in messages of at most 64
/// KiB. Rank 0 passes them to `teller`, which may be empty on other ranks.
Result<void> tell_root(Transport& transport, Tracing& mine, const TraceTeller& teller);

}  // namespace oratorio
