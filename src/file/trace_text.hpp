// SPDX-License-Identifier: BSD-3-Clause
// TraceText: what rank 0 was told of an open file's accesses, as events of its trace
// (docs/trace.md). Private to src/file.
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
    /// `clocks` of the nodes; `file` and `nodes` outlive it.
    TraceText(TraceFile& file, const Nodes& nodes, std::vector<NodeClock> clocks);

    /// First: of all ranks.
    void add_file(const std::string& path, const std::string& location, const HintMap& hints);
    void begin_rank(Rank rank, const TraceHello& hello);
    /// Of that rank, before its accesses.
    void add_shapes(const ShapeBook::Encoded& shapes);
    /// Of that rank, in parts if need be; all accesses before the first span.
    void add_accesses(std::span<const AccessRecord> some);
    void add_spans(std::span<const Span> some);
    /// Last: how many there were.
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
    std::string name_;       ///< of the file, without folders
    Nanoseconds unix_ = 0;   ///< rank 0's clock shows so much less than the time since 1970
    std::string number_;     ///< of the section
    TraceHello hello_;       ///< of the rank
    Nanoseconds ahead_ = 0;  ///< its clock, of the trace's times
    Rank rank_ = 0;
    /// Of all ranks, by length and hash, which two of them share by chance only.
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> shapes_;
    std::vector<std::int64_t> numbers_;  ///< of the rank's shapes, among those
    std::vector<std::uint8_t> lanes_;    ///< of its accesses
    std::vector<bool> named_;            ///< which of its tracks have a name
    std::uint64_t accesses_ = 0;
    std::uint64_t spans_ = 0;
    std::uint64_t dropped_accesses_ = 0;
    std::uint64_t dropped_spans_ = 0;
    std::uint64_t dropped_layouts_ = 0;
};

}  // namespace oratorio
