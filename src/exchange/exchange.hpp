// Exchange: how the data of the participants gets into the collective buffers of the aggregators,
// and back. Knows nothing of storage. Both directions walk the same rounds; an aggregator opens a
// round when its buffer is ready to be filled (write) or holds the file's bytes (read), and the
// round closes when every participant is served.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "plan/plan.hpp"
#include "stats/stats.hpp"

namespace oratorio {

/// What all participants together put into one region.
struct RoundContents {
    Bytes bytes = 0;
    std::uint64_t coverage = 0;
    Extent hull;
};

class Exchange {
  public:
    virtual ~Exchange() = default;
    Exchange() = default;
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// Aggregator, writes with holes: begins to ask what `round` will hold.
    virtual void expect(std::int64_t round) = 0;
    /// The answer, nullptr while it isn't complete.
    [[nodiscard]] virtual const RoundContents* contents(std::int64_t round) const = 0;
    /// Aggregator. `buffer` holds the region of `round` as Region::buffer_position says. Reads:
    /// file bytes at or after `valid_until` are not there (end of file, or a failed read) and reach
    /// nobody.
    virtual void open(std::int64_t round, std::span<std::byte> buffer, Offset valid_until) = 0;
    /// Every participant is served and the buffer isn't touched any more. Forgets the round when
    /// true.
    virtual bool close_if_served(std::int64_t round) = 0;
    /// Moves on without waiting; true when something moved. An error is the transport's: the run
    /// can't go on.
    virtual Result<bool> step() = 0;
    /// This rank's own data has all been taken or has arrived, and nothing it sent is outstanding.
    [[nodiscard]] virtual bool finished() const = 0;
    /// Reads: bytes that reached this rank's memory.
    [[nodiscard]] virtual Bytes received() const = 0;
};

/// By messages between ranks, bounded in size and number; a rank's share of its own aggregator is
/// copied without messages. Everything passed must outlive the exchange. `sequence` keeps the
/// messages of successive accesses apart; `memory` is for the messages:
/// MessageBuffers::bytes_needed of the plan.
std::unique_ptr<Exchange> make_peer_exchange(Transport& transport, const Plan& plan,
                                             const Access& access, Stats& stats, unsigned sequence,
                                             std::span<std::byte> memory);

}  // namespace oratorio
