// SPDX-License-Identifier: BSD-3-Clause
// Exchange: moves the participants' data into the collective buffers of the aggregators, and back.
// It is the exchange phase of two-phase I/O (collective buffering), and knows nothing of storage.
// Both directions walk the same rounds. A round is opened when its buffer is ready to be filled
// (write) or holds the file's bytes (read): by its aggregator or, if any rank may load rounds, by
// the rank that loaded it. It closes when every participant is served.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/step.hpp"
#include "exchange/write_mask.hpp"
#include "plan/plan.hpp"
#include "stats/stats.hpp"

namespace oratorio {

class NodeMemory;

/// How much data one participant, or all of them together, have in one region, and where.
struct RoundContents {
    Bytes bytes = 0;
    std::uint64_t coverage = 0;
    Extent hull = {};

    void add(const RoundContents& one) {
        bytes += one.bytes;
        coverage += one.coverage;
        hull = oratorio::hull(hull, one.hull);
    }
};

/// This rank's progress with its own data.
struct ExchangeProgress {
    bool finished = false;  ///< the rank's data was taken or has arrived; nothing is outstanding
    Bytes received = 0;     ///< reads: bytes that reached this rank's memory
    bool differs = false;   ///< another rank follows a different plan (engine/plan_cache.hpp)
    Error failed = {};  ///< first failure to move some data; the rank continued without that data
};

class Exchange {
  public:
    virtual ~Exchange() = default;
    Exchange() = default;
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// Starts to ask the participants what data they have in `round`.
    /// REQUIRES: this rank is an aggregator, and the plan says asks_contents().
    virtual void expect(std::int64_t round) = 0;
    /// Returns the sum of the answers to expect(), or nothing until every participant has answered.
    /// REQUIRES: expect() was called for the round, and open() was not.
    [[nodiscard]] virtual std::optional<RoundContents> contents(std::int64_t round) const = 0;
    /// Opens a round in a buffer that is ready. The caller is the rank that loaded the round: the
    /// aggregator itself, or any rank where the plan says any_rank_loads(). `buffer` holds the
    /// region of `round`; its write mask, if it has one, is clear. Reads: file bytes at or after
    /// `valid_until` are absent (end of file, or a failed read) and reach no rank.
    /// REQUIRES: the round is not open, it has participants, and the aggregator's open rounds are
    /// fewer than NodeMemory::rounds_max apart.
    virtual void open(int aggregator, std::int64_t round, const RoundBuffer& buffer,
                      Offset valid_until) = 0;
    /// Returns true once every participant is served and the buffer is no longer touched. The round
    /// is then forgotten, and `held` is the number of bytes that participants wrote to its buffer;
    /// the buffer's write mask says which bytes. REQUIRES: this rank has opened the round, for its
    /// own aggregator role, and not closed it.
    virtual bool close_if_served(std::int64_t round, Bytes& held) = 0;
    /// Makes progress without waiting; returns Step::progressed if anything moved. An error comes
    /// from the transport, and the run can't continue.
    virtual Result<Step> step() = 0;
    [[nodiscard]] virtual ExchangeProgress progress() const = 0;
    /// Returns the doorbell that rings when step() may make progress again, or null if only polling
    /// shows that.
    [[nodiscard]] virtual Doorbell* doorbell() const { return nullptr; }
};

/// The inputs of an exchange. Everything referenced outlives the exchange.
struct ExchangeContext {
    Transport& transport;
    const Plan& plan;
    const Access& access;
    Stats& stats;
    unsigned sequence = 0;             ///< separates successive accesses; equal on all ranks
    std::span<std::byte> messages;     ///< MessageBuffers::bytes_needed, for peer and gathered
    std::span<std::byte> group;        ///< GroupData::bytes_needed, for local aggregators
    const NodeMemory* node = nullptr;  ///< used by shared, cross_memory and windows
};

/// Makes the exchange that the plan's method names.
std::unique_ptr<Exchange> make_exchange(const ExchangeContext& context);

/// Makes the exchange by packed messages between ranks, bounded in size and number. A rank's data
/// for its own aggregator role is copied without messages.
std::unique_ptr<Exchange> make_peer_exchange(const ExchangeContext& context);
/// Makes the zero-copy exchange by messages: data isn't packed, but goes directly between the
/// ranks' memory and the collective buffers. A message that lists the pieces precedes each message
/// with data.
std::unique_ptr<Exchange> make_gathered_exchange(const ExchangeContext& context);
/// Makes the exchange through collective buffers that all ranks of the node map: each rank copies
/// its own data.
std::unique_ptr<Exchange> make_shared_exchange(const ExchangeContext& context);
/// Makes the exchange in which aggregators access the memory of the other ranks (cross-memory
/// attach).
std::unique_ptr<Exchange> make_cross_memory_exchange(const ExchangeContext& context);

}  // namespace oratorio
