// SPDX-License-Identifier: BSD-3-Clause
// Tracing: what an open file keeps for ORATORIO_TRACE, and how the ranks put it together when the
// file is closed. Private to src/file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/transport.hpp"
#include "file/file.hpp"
#include "file/shape_book.hpp"
#include "plan/plan.hpp"
#include "stats/recorder.hpp"

namespace oratorio {

/// A node's clock, as the clock of rank 0's node shows it.
struct NodeClock {
    Nanoseconds ahead = 0;   ///< of rank 0's
    Nanoseconds within = 0;  ///< it may be wrong by so much; 0: the same clock
};

/// Of one rank's part of a trace, before its shapes, its accesses and its spans. Travels as bytes.
struct TraceHello {
    std::int32_t who = 0;    ///< the process in the trace
    std::int32_t track = 0;  ///< the file among those that it has open
    std::uint64_t accesses = 0;
    std::uint64_t spans = 0;
    std::uint64_t dropped_accesses = 0;
    std::uint64_t dropped_spans = 0;
    std::uint64_t dropped_layouts = 0;  ///< collective accesses whose layouts aren't all there
    std::uint64_t shapes = 0;
    std::uint64_t shape_bytes = 0;  ///< of all of them
};

class Tracing {
  public:
    Tracing(const TraceCall& call, const Stats& stats, int ranks);

    [[nodiscard]] Recorder& recorder() { return recorder_; }
    [[nodiscard]] const ShapeBook& shapes() const { return shapes_; }
    [[nodiscard]] const TraceCall& call() const { return call_; }
    /// The access has a place and a memory now.
    void describe(const TracedAccess& traced, const Access& access);
    /// The access that is being worked on has a plan.
    void planned(const Plan& plan);
    /// Without what there is of shapes.
    [[nodiscard]] TraceHello hello(Rank rank) const;

  private:
    TraceCall call_;
    Recorder recorder_;
    ShapeBook shapes_;
    std::uint64_t dropped_layouts_ = 0;
};

/// A layout as a few numbers.
[[nodiscard]] Pattern pattern_of(const Layout& layout);

/// Collective. Root gets the clock of each node, the others nothing.
Result<std::vector<NodeClock>> compare_clocks(Transport& transport);

/// What rank 0 is told, rank by rank: how much comes, then that.
struct TraceTeller {
    std::function<void(Rank, const TraceHello&)> begin;
    std::function<void(const ShapeBook::Encoded&)> shapes;
    std::function<void(std::span<const AccessRecord>)> accesses;
    std::function<void(std::span<const Span>)> spans;
};
/// Collective. Rank 0 hears of all ranks in their order, a message of at most 64 KiB at a time.
Result<void> tell_root(Transport& transport, Tracing& mine, const TraceTeller& teller);

}  // namespace oratorio
