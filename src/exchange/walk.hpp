// Walk: one rank's own data, chunk by chunk, in the order of rounds and aggregators. The side of a
// participant: what it sends to (or wants from) which aggregator, and where that lies in its
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exchange/exchange.hpp"
#include "exchange/run_table.hpp"

namespace oratorio {

/// `bytes` of the rank's data, from data position `position` of its memory layout.
struct Segment {
    Bytes position = 0;
    Bytes bytes = 0;
};

/// One message's worth of one rank's part of one region.
struct Chunk {
    int aggregator = 0;  ///< index in plan.aggregators
    std::int64_t round = 0;
    bool last = false;  ///< the rank has no more for this aggregator in this round
    Bytes payload = 0;
    std::vector<Segment> segments;  ///< payload in order
};

/// Steps through the (round, aggregator) pairs whose region touches `mine`; own aggregator last
/// within a round, so that ranks don't all talk to the same aggregator at once and nobody waits for
/// itself with data for others in hand.
class RegionOrder {
  public:
    RegionOrder(const Plan& plan, Rank rank, Extent mine);
    [[nodiscard]] bool at_end() const { return round_ >= plan_->rounds; }
    [[nodiscard]] std::int64_t round() const { return round_; }
    [[nodiscard]] int aggregator() const;
    [[nodiscard]] Region region() const { return plan_->region(aggregator(), round_); }
    void advance();

  private:
    void skip_untouched();
    const Plan* plan_;
    Extent mine_;
    int first_ = 0;
    std::int64_t round_ = 0;
    int turn_ = 0;
};

class Walk {
  public:
    Walk(const Plan& plan, const Access& access, Rank rank);

    [[nodiscard]] bool at_end() const { return order_.at_end(); }
    /// Where the next chunk goes.
    [[nodiscard]] std::int64_t round() const { return order_.round(); }
    [[nodiscard]] int aggregator() const { return order_.aggregator(); }
    /// Takes the next chunk: runs are written to the front of `table_and_payload`, and table +
    /// payload fit into it. Returns the bytes of the table.
    std::size_t next(std::span<std::byte> table_and_payload, Chunk& chunk);
    /// Passes a region of which no chunk has been taken.
    void skip() { order_.advance(); }

  private:
    void enter_extent(const Region& region);
    RegionOrder order_;
    Cursor file_;
    Bytes from_ = 0;
    Bytes to_ = 0;
    std::int64_t extent_ = 0;
    bool entered_ = false;
};

/// What this rank has in `region`. One walk over its pieces there.
[[nodiscard]] RoundContents contents_of(Cursor& file, Bytes from, Bytes to, const Region& region);

/// Copies the payload between the segments of the user's memory and `payload`.
void pack_segments(Cursor& memory, const std::byte* buffer, const std::vector<Segment>& segments,
                   std::span<std::byte> payload);
/// At most `bytes` of it (a short read).
void unpack_segments(Cursor& memory, std::byte* buffer, const std::vector<Segment>& segments,
                     std::span<const std::byte> payload);

/// Payload -> collective buffer and its mask, as the run table says. False where a run leaves the
/// region or the payload: nothing outside them is touched.
[[nodiscard]] bool place_runs(std::span<const std::byte> table, std::span<const std::byte> payload,
                              const Region& region, const RoundBuffer& buffer);
/// Collective buffer -> payload; stops at `valid_until`. Returns the bytes of payload that are
/// there; nothing where a run leaves the region or the payload.
[[nodiscard]] std::optional<Bytes> fetch_runs(std::span<const std::byte> table,
                                              std::span<std::byte> payload, const Region& region,
                                              std::span<const std::byte> buffer,
                                              Offset valid_until);

}  // namespace oratorio
