// SPDX-License-Identifier: BSD-3-Clause
// Exchange: how the data of the participants gets into the collective buffers of the aggregators,
// and back. Knows nothing of storage. Both directions walk the same rounds; an aggregator opens a
// round when its buffer is ready to be filled (write) or holds the file's bytes (read), and the
// round closes when every participant is served.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "exchange/given.hpp"
#include "plan/plan.hpp"
#include "stats/stats.hpp"

namespace oratorio {

class NodeMemory;

/// What all participants together want of one region.
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

/// How far a rank has come with its own data.
struct Standing {
    bool finished = false;  ///< it has all been taken or has arrived; nothing is outstanding
    Bytes received = 0;     ///< reads: bytes that reached its memory
    bool differs = false;   ///< some other rank works by another plan (run/plan_cache.hpp)
    Error failed = {};      ///< this rank could not move some data; it went on without
};

class Exchange {
  public:
    virtual ~Exchange() = default;
    Exchange() = default;
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// Aggregator of a read, where the plan asks for contents: begins to ask what `round` will
    /// hold.
    virtual void expect(std::int64_t round) = 0;
    /// The answer; nothing while it isn't complete.
    [[nodiscard]] virtual std::optional<RoundContents> contents(std::int64_t round) const = 0;
    /// Whoever loads: that aggregator, or with shared loads any rank. `buffer` holds the region of
    /// `round`; its mask, where it has one, is clear. Reads: file bytes at or after `valid_until`
    /// are not there (end of file, or a failed read) and reach nobody.
    virtual void open(int aggregator, std::int64_t round, const RoundBuffer& buffer,
                      Offset valid_until) = 0;
    /// True when every participant is served and the buffer isn't touched any more; then the round
    /// is forgotten and `held` says how many bytes came into it. What those are the mask says.
    virtual bool close_if_served(std::int64_t round, Bytes& held) = 0;
    /// Moves on without waiting; true when something moved. An error is the transport's: the run
    /// can't go on.
    virtual Result<bool> step() = 0;
    [[nodiscard]] virtual Standing standing() const = 0;
    /// Rings when a step may move something again; null where only trying tells.
    [[nodiscard]] virtual Bell* bell() const { return nullptr; }
};

/// What an exchange works with; everything outlives it.
struct ExchangeContext {
    Transport& transport;
    const Plan& plan;
    const Access& access;
    Stats& stats;
    unsigned sequence = 0;             ///< keeps successive accesses apart; equal on all ranks
    std::span<std::byte> messages;     ///< messages: MessageBuffers::bytes_needed of the plan
    std::span<std::byte> group;        ///< of local aggregators: GroupRuns::bytes_needed
    const NodeMemory* node = nullptr;  ///< exchanges on a node
};

/// The one that the plan's method names.
std::unique_ptr<Exchange> make_exchange(const ExchangeContext& context);

/// By messages between ranks, bounded in size and number; a rank's share of its own aggregator is
/// copied without messages.
std::unique_ptr<Exchange> make_peer_exchange(const ExchangeContext& context);
/// By messages that aren't packed: they go straight between the ranks' memory and the collective
/// buffers, each after one that tells which pieces it has.
std::unique_ptr<Exchange> make_gathered_exchange(const ExchangeContext& context);
/// Through collective buffers that all ranks of the node map: each rank copies its own data.
std::unique_ptr<Exchange> make_shared_exchange(const ExchangeContext& context);
/// The aggregators reach into the memory of the other ranks.
std::unique_ptr<Exchange> make_cross_memory_exchange(const ExchangeContext& context);

}  // namespace oratorio
