// SPDX-License-Identifier: BSD-3-Clause
// Recorder: which accesses one rank made to one open file, when, and what their time was spent on,
// for ORATORIO_TRACE. Bounded: what comes after its limits is counted, not kept. Owned by the open
// file and used by one thread at a time; where nobody traces there is none.
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

/// Of a monotonic clock that the processes of a node share.
using Nanoseconds = std::int64_t;

/// A layout as a few numbers. Travels as bytes.
struct Pattern {
    static constexpr int levels_max = 6;
    struct Level {
        std::int64_t count = 1;
        Bytes stride = 0;
    };
    Offset displacement = 0;   ///< where the first tile begins
    Bytes extent = 0;          ///< from tile to tile
    std::int64_t tiles = 0;    ///< -1: without end
    Bytes tile_bytes = 0;      ///< data of a tile
    std::int64_t pieces = 0;   ///< of a tile
    Offset first = 0;          ///< where the data begins in a tile; of a regular one
    Bytes block = 0;           ///< contiguous bytes; of a regular one
    std::int32_t levels = -1;  ///< from the outermost; -1: it isn't regular
    std::array<Level, levels_max> level{};
};

/// Travels as bytes.
struct AccessRecord {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int64_t collective = -1;  ///< how many collective ones came before; -1: it isn't one
    Direction direction = Direction::read;
    bool started = false;   ///< nonblocking or split: the program went on meanwhile
    bool shared = false;    ///< with the shared file pointer
    std::uint8_t lane = 0;  ///< others were under way on those below
    ErrorKind error = ErrorKind::none;
    Bytes asked = 0;
    Bytes moved = 0;
    Extent hull;  ///< of the file, this rank's
    std::int64_t pieces = 0;
    std::int64_t memory_pieces = 0;
    Bytes from = 0;  ///< data position in `file`
    Pattern file;
    Pattern memory;
    std::int32_t file_shape = -1;  ///< its number among those kept; -1: it isn't kept
    std::int32_t memory_shape = -1;
    std::array<char, 32> method{};  ///< "" when there was nothing to plan
    std::int32_t aggregators = 0;
    std::int32_t participants = 0;
    std::int64_t rounds = 0;
    std::array<std::uint64_t, Stats::rows> counts{};  ///< what the access added to the counters
};

/// Travels as bytes.
struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int64_t detail = 0;   ///< number of the round; bytes of the messages
    std::int32_t access = 0;   ///< number of the access
    std::uint16_t joined = 1;  ///< so many that followed one another closely
    Activity activity = Activity::planning;
    std::uint8_t lane = 0;  ///< 0: the rank's own; 1 + i: slot i
};

class Recorder {
  public:
    struct Limits {
        std::size_t accesses = 0;
        std::size_t spans = 0;
        std::size_t spans_of_access = 0;
        std::size_t shapes = 0;
        std::int64_t shape_numbers = 0;  ///< in all of them
    };
    /// So that the ranks of a file together keep no more than 2^17 accesses, 2^21 spans, and
    /// 2^24 numbers of shapes, as long as there are no more than 2^14 ranks.
    [[nodiscard]] static Limits limits_for(int ranks);
    [[nodiscard]] static Nanoseconds now();

    /// Takes its memory at once. Where there is none it keeps nothing. `stats` outlive it.
    Recorder(const Stats& stats, const Limits& limits);

    static constexpr int nobody = -1;

    /// Whether there is room for no other access.
    [[nodiscard]] bool full() const { return accesses_.size() >= limits_.accesses; }
    /// Whether none is under way.
    [[nodiscard]] bool idle() const { return lanes_ == 0; }
    /// An access begins for which there is no room: it is counted, and nothing of it told.
    void skip() { ++dropped_accesses_; }
    /// The access begins, and there is room for it. Its number.
    int begin(const AccessRecord& what);
    /// What follows is done for that access, until another is named.
    void work_for(int access);
    /// What has become of it.
    void end(int access, Bytes moved, ErrorKind error);
    /// Of one that has begun; null for nobody's.
    [[nodiscard]] AccessRecord* find(int access);
    [[nodiscard]] int current() const { return current_; }
    /// Of the access that is being worked on, if any is.
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
    std::vector<std::uint32_t> kept_;  ///< spans of each access
    std::array<std::uint64_t, Stats::rows> before_{};
    std::int64_t collectives_ = 0;
    std::uint32_t lanes_ = 0;  ///< bits of those in use
    int current_ = nobody;
    std::uint64_t dropped_accesses_ = 0;
    std::uint64_t dropped_spans_ = 0;
};

/// An access that is being done; one of no recorder is nobody's.
class TracedAccess {
  public:
    TracedAccess() = default;
    TracedAccess(Recorder& recorder, const AccessRecord& what)
        : recorder_(&recorder), number_(recorder.begin(what)) {}
    /// One that isn't kept.
    explicit TracedAccess(Recorder& recorder) : recorder_(&recorder) {}
    [[nodiscard]] int number() const { return number_; }
    /// What this thread does next is for it.
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

/// One activity after the other: of an access, or of one slot.
class Track {
  public:
    Track() = default;  ///< nobody is told
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
