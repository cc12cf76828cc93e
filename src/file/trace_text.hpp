// SPDX-License-Identifier: BSD-3-Clause
// TraceText: turns what rank 0 has received about the accesses to a file, and about other calls,
// into events of the trace (docs/user/trace.md). Private to src/file.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "file/trace_file.hpp"
#include "file/tracing.hpp"

namespace oratorio {

class TraceText {
  public:
    /// `clocks` has one clock for each node. `file` and `nodes` outlive the object.
    TraceText(TraceFile& file, const Nodes& nodes, std::vector<NodeClock> clocks);

    /// Adds what doesn't depend on a rank: the file's paths, the ranks' placement, the nodes and
    /// the hints. REQUIRES: called first.
    void add_file(const std::string& path, const std::string& location, const HintMap& hints);
    void begin_rank(Rank rank, const TraceHello& hello);
    /// Adds the shapes of the rank that begin_rank() was called for, before its accesses.
    void add_shapes(const ShapeBook::Encoded& shapes);
    /// Adds accesses of the same rank. May be called several times. REQUIRES: add_spans() wasn't
    /// called for the rank yet.
    void add_accesses(std::span<const AccessRecord> some);
    void add_spans(std::span<const Span> some);
    void add_calls(std::span<const CallRecord> some);
    /// Adds the totals. REQUIRES: called last.
    void end();

  private:
    [[nodiscard]] std::string times(Nanoseconds begin, Nanoseconds end) const;
    [[nodiscard]] std::string at(int lane, int slot);
    [[nodiscard]] std::string arguments_of(const AccessRecord& access) const;
    [[nodiscard]] std::string layout_text(const Pattern& pattern, std::int32_t shape) const;
    void name_process();
    void name_track(int thread, int lane, int slot);

    TraceFile& file_;
    const Nodes& nodes_;
    std::vector<NodeClock> clocks_;
    std::string name_;       ///< the file's name, without folders
    Nanoseconds unix_ = 0;   ///< Unix time minus rank 0's clock
    std::string number_;     ///< number of the section, as text
    TraceHello hello_;       ///< header of the current rank
    Nanoseconds ahead_ = 0;  ///< how far the rank's clock is ahead of the trace's times
    Rank rank_ = 0;
    /// Numbers of all ranks' shapes, by length and hash of their encoding. Two different shapes
    /// have the same key only by chance.
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> shapes_;
    std::vector<std::int64_t> numbers_;  ///< numbers in `shapes_` of the current rank's shapes
    std::vector<std::uint8_t> lanes_;    ///< lanes of the current rank's accesses
    std::vector<bool> named_;            ///< which tracks of the current rank have a name
    std::uint64_t accesses_ = 0;
    std::uint64_t spans_ = 0;
    std::uint64_t calls_ = 0;
    std::uint64_t dropped_accesses_ = 0;
    std::uint64_t dropped_spans_ = 0;
    std::uint64_t dropped_layouts_ = 0;
    std::uint64_t dropped_calls_ = 0;
};

}  // namespace oratorio
