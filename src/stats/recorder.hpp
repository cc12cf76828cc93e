// SPDX-License-Identifier: BSD-3-Clause
// Recorder: records for ORATORIO_TRACE when the accesses of one rank to one open file happened, and
// what their time was spent on. Its memory is bounded; accesses and spans beyond the limits are
// counted but not kept. The open file owns the recorder. REQUIRES: one thread uses it at a time. A
// recorder exists only while the program is traced.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/direction.hpp"
#include "base/error.hpp"
#include "stats/stats.hpp"

namespace oratorio {

enum class Activity : std::uint8_t {
#define ACTIVITY(name, category, description) name,
#include "stats/activities.def"
#undef ACTIVITY
};

/// A time of the monotonic clock, which the processes of a node share.
using Nanoseconds = std::int64_t;

/// A layout described by a few numbers. It is sent to rank 0 as bytes.
struct Pattern {
    static constexpr int levels_max = 6;
    struct Level {
        std::int64_t count = 1;
        Bytes stride = 0;
    };
    Offset displacement = 0;   ///< where the first tile begins
    Bytes extent = 0;          ///< distance from one tile to the next
    std::int64_t tiles = 0;    ///< -1: unbounded
    Bytes tile_bytes = 0;      ///< data bytes of a tile
    std::int64_t pieces = 0;   ///< contiguous pieces of a tile
    Offset first = 0;          ///< where the data begins in a tile; regular layouts only
    Bytes block = 0;           ///< contiguous bytes of a piece; regular layouts only
    std::int32_t levels = -1;  ///< number of levels, outermost first; -1: the layout isn't regular
    std::array<Level, levels_max> level{};
};

/// A record of one access. It is sent to rank 0 as bytes.
struct AccessRecord {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int64_t collective = -1;  ///< number of earlier collective accesses; -1: not collective
    Direction direction = Direction::read;
    /// Nonblocking or split: the program continued during the access.
    bool started = false;
    bool shared = false;    ///< used the shared file pointer
    std::uint8_t lane = 0;  ///< the lowest lane that was free when the access began; 31 if none
    ErrorKind error = ErrorKind::none;
    Bytes asked = 0;
    Bytes moved = 0;
    Extent hull;  ///< smallest range of the file with all data of this rank
    std::int64_t pieces = 0;
    std::int64_t memory_pieces = 0;
    Bytes from = 0;  ///< data position in `file` at which the access begins
    Pattern file;
    Pattern memory;
    std::int32_t file_shape = -1;  ///< number among the recorded shapes; -1: not recorded
    std::int32_t memory_shape = -1;
    std::array<char, 32> method{};  ///< "" when there was nothing to plan
    std::int32_t aggregators = 0;
    std::int32_t participants = 0;
    std::int64_t rounds = 0;
    std::array<std::uint64_t, Stats::rows> counts{};  ///< what the access added to the counters
};

/// A stretch of time with one activity. It is sent to rank 0 as bytes.
struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int64_t detail = 0;   ///< number of the round, or bytes of the messages
    std::int32_t access = 0;   ///< number of the access
    std::uint16_t joined = 1;  ///< number of consecutive spans that were joined into this one
    Activity activity = Activity::planning;
    /// Lane in the trace: 0 for the rank's own activities, 1 + i for those of an aggregator's slot
    /// i.
    std::uint8_t lane = 0;
};

class Recorder {
  public:
    struct Limits {
        std::size_t accesses = 0;
        std::size_t spans = 0;
        std::size_t spans_of_access = 0;
        std::size_t shapes = 0;
        std::int64_t shape_numbers = 0;  ///< numbers in all recorded shapes together
    };
    /// Returns the limits for one of the `ranks` ranks of a file. Together, up to 2^14 ranks keep
    /// no more than 2^17 accesses, 2^21 spans, and 2^24 numbers in shapes.
    [[nodiscard]] static Limits limits_for(int ranks);
    [[nodiscard]] static Nanoseconds now();

    /// Reserves the memory for all accesses and spans. If that fails, the recorder keeps nothing.
    /// REQUIRES: `stats` outlives the recorder.
    Recorder(const Stats& stats, const Limits& limits);

    static constexpr int nobody = -1;

    /// Returns true if there is no room for another access.
    [[nodiscard]] bool full() const { return accesses_.size() >= limits_.accesses; }
    /// Returns true if no access is in progress.
    [[nodiscard]] bool idle() const { return lanes_ == 0; }
    /// Counts an access for which there is no room, and records nothing else about it.
    void skip() { ++dropped_accesses_; }
    /// Begins an access and returns its number. REQUIRES: !full().
    int begin(const AccessRecord& what);
    /// Attributes all spans and counts that follow to `access`, until another call names a
    /// different access.
    void work_for(int access);
    /// Ends an access with its outcome.
    void end(int access, Bytes moved, ErrorKind error);
    /// Returns an access that has begun, or null for `nobody`.
    [[nodiscard]] AccessRecord* find(int access);
    [[nodiscard]] int current() const { return current_; }
    /// Adds a span to the current access, if there is one.
    void add(const Span& span);

    [[nodiscard]] const std::vector<AccessRecord>& accesses() const { return accesses_; }
    [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
    [[nodiscard]] std::uint64_t dropped_accesses() const { return dropped_accesses_; }
    [[nodiscard]] std::uint64_t dropped_spans() const { return dropped_spans_; }

  private:
    [[nodiscard]] bool joins(const Span& span) const;
    void settle();

    const Stats& stats_;
    Limits limits_;
    std::vector<AccessRecord> accesses_;
    std::vector<Span> spans_;
    std::vector<std::uint32_t> kept_;  ///< number of detail spans of each access
    std::array<std::uint64_t, Stats::rows> before_{};
    std::int64_t collectives_ = 0;
    std::uint32_t lanes_ = 0;  ///< bit i is set while lane i is in use
    int current_ = nobody;
    std::uint64_t dropped_accesses_ = 0;
    std::uint64_t dropped_spans_ = 0;
};

/// An access in progress. Without a recorder its functions do nothing.
class TracedAccess {
  public:
    TracedAccess() = default;
    TracedAccess(Recorder& recorder, const AccessRecord& what)
        : recorder_(&recorder), number_(recorder.begin(what)) {}
    /// Makes an access that isn't recorded. Its work() keeps its spans and counts from being
    /// attributed to another access.
    explicit TracedAccess(Recorder& recorder) : recorder_(&recorder) {}
    [[nodiscard]] int number() const { return number_; }
    /// Attributes this thread's next work to the access.
    void work() const {
        if (recorder_ != nullptr) recorder_->work_for(number_);
    }
    void end(Bytes moved, ErrorKind error) const {
        if (recorder_ != nullptr) recorder_->end(number_, moved, error);
    }

  private:
    Recorder* recorder_ = nullptr;
    int number_ = Recorder::nobody;
};

/// Records the successive activities of an access, or of one slot of an aggregator.
class Track {
  public:
    Track() = default;  ///< records nothing
    explicit Track(const Stats& stats, int lane = 0)
        : recorder_(stats.recorder), lane_(static_cast<std::uint8_t>(lane)) {}
    void enter(Activity activity, std::int64_t detail = 0) {
        if (recorder_ != nullptr) turn_to(activity, detail);
    }
    void leave() {
        if (recorder_ != nullptr) close();
    }

  private:
    void turn_to(Activity activity, std::int64_t detail);
    void close();

    Recorder* recorder_ = nullptr;
    std::uint8_t lane_ = 0;
    bool open_ = false;
    Span span_;
};

[[nodiscard]] std::string_view name_of(Activity activity);
[[nodiscard]] std::string_view category_of(Activity activity);

}  // namespace oratorio
