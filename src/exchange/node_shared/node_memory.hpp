// SPDX-License-Identifier: BSD-3-Clause
// NodeMemory: the memory that the ranks of one node share, reused from file to file: a doorbell and
// a mailbox per rank, control words for the rounds (or the windows of two_layer/windows) that may
// be open, and the collective buffers or windows. The first access that needs node memory makes it;
// one that needs more replaces it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/doorbell.hpp"
#include "comm/shared_segment.hpp"
#include "plan/plan.hpp"

namespace oratorio {

/// Control words of an open round or, in two-layer exchange, of an open window. The opener writes
/// `round` last; the participants then move their data and decrement `to_come`. Memory order: all
/// operations are sequentially consistent. The store to `round` publishes all other fields to the
/// participants, which read `round` first. The decrement of `to_come` publishes a participant's
/// data and its part of `bytes` to the rank that reads 0. `claimed` changes by compare-and-swap, so
/// that only one rank reserves a round; it publishes nothing.
struct alignas(64) SlotControl {
    std::atomic<std::uint64_t> round{0};    ///< key of the open round or window
    std::atomic<std::uint64_t> claimed{0};  ///< key of the last round reserved for loading
    std::atomic<std::int64_t> to_come{0};   ///< participants that haven't moved their data yet
    Offset begin = 0;                       ///< where the round's region begins
    Offset valid_until = 0;                 ///< see Exchange::open
    Bytes buffer = 0;                       ///< offset of the sub-buffer in buffers()
    Bytes mask = -1;                        ///< offset of the write mask in buffers(); -1: none
    std::atomic<std::int64_t> bytes{0};     ///< writes: bytes moved by the participants so far
};

/// An aggregator's question to its participants: which data will this round hold? As in
/// SlotControl, the aggregator writes `round` last, and each participant adds its contents before
/// it decrements `to_come`; the memory order is the same.
struct alignas(64) ContentsQuery {
    std::atomic<std::uint64_t> round{0};
    std::atomic<std::int64_t> to_come{0};
    Offset begin = 0;
    std::atomic<std::int64_t> bytes{0};
    std::atomic<std::uint64_t> coverage{0};
    std::atomic<Offset> first{INT64_MAX};
    std::atomic<Offset> last{INT64_MIN};
};

/// The number of working ranks of the node: those that do not wait (exchange/node_shared/waking).
/// Memory order: sequentially consistent with Doorbell::rings, see ActiveScope::end().
struct alignas(64) Awake {
    std::atomic<int> ranks{0};
};

/// A rank's mailbox: where other ranks find its doorbell and its data
/// (exchange/node_shared/cross_memory). Memory order: all operations are sequentially consistent.
/// `ready` publishes the fields below it to the aggregators. `served` publishes to the participants
/// what the aggregator has moved, `received` included. After a store to `entered`, `ready` or
/// `served`, the storing rank rings the ranks that may wait for that store.
struct RankMailbox {
    explicit RankMailbox(WaitPolicy usual) : doorbell(usual) {}
    Doorbell doorbell;
    /// Key of the last access whose entry the rank has announced (engine/entry_tracker).
    /// Accesses that need no announcement leave it unchanged.
    alignas(64) std::atomic<std::uint64_t> entered{0};
    /// Key of the access that the fields below describe; written last.
    alignas(64) std::atomic<std::uint64_t> ready{0};
    std::uint64_t layouts = 0;  ///< address of the encoded layouts: file, then memory
    Bytes file_layout_bytes = 0;
    Bytes memory_layout_bytes = 0;
    std::uint64_t buffer = 0;  ///< address of the user's buffer
    Bytes from = 0;            ///< first data position, as Access::from
    Bytes bytes = 0;
    Offset plan_begin = 0;                  ///< where the hull of the rank's plan begins
    std::atomic<std::int64_t> received{0};  ///< reads: bytes written to the rank's memory
    /// Aggregators: key of the last access in which this rank has closed all its rounds.
    alignas(64) std::atomic<std::uint64_t> served{0};
};

class NodeMemory {
  public:
    static constexpr int rounds_max = kSlotsMost;  ///< maximum number of open rounds per aggregator

    NodeMemory() = default;
    /// Makes node memory that is refused from the start, so that methods that share memory don't
    /// apply. REQUIRES: all ranks do the same.
    explicit NodeMemory(const Error& refusal)
        : shared_refused_(true), cross_memory_refused_(true), refusal_(refusal) {}

    /// Makes sure that each node has `bytes` of collective buffers; does nothing if all nodes have
    /// them. Works in steps: returns Step::done when finished. If `cross_memory`, the ranks must be
    /// able to access each other's memory. If the memory can't be made or accessed, all ranks have
    /// the same refusal() and don't try again. REQUIRES: collective, with equal arguments on all
    /// ranks.
    Result<Step> prepare(Transport& transport, Bytes bytes, bool cross_memory);
    /// Forgets refusals, and frees the memory if its collective buffers are larger than `kept_max`.
    /// REQUIRES: collective, between two files.
    void tidy(Bytes kept_max);
    [[nodiscard]] const Error& refusal() const { return refusal_; }
    [[nodiscard]] bool shared_refused() const { return shared_refused_; }
    [[nodiscard]] bool cross_memory_refused() const { return cross_memory_refused_; }
    /// Returns the sharing that this node memory allows.
    [[nodiscard]] Agreed<NodeSharing> sharing() const;

    // REQUIRES, for all functions below: prepare() has made the memory, and `rank` is on this node.
    [[nodiscard]] Doorbell& doorbell(Rank rank) const { return mailbox(rank).doorbell; }
    [[nodiscard]] RankMailbox& mailbox(Rank rank) const;
    [[nodiscard]] int process(Rank rank) const {
        return processes_[static_cast<std::size_t>(place(rank))];
    }
    [[nodiscard]] std::atomic<int>& awake() const { return awake_->ranks; }
    /// Returns the rank's index on its node.
    [[nodiscard]] int place(Rank rank) const { return rank_map_.slot(rank).place; }
    /// Returns the control words of a round. `aggregator` is the aggregator's index in the plan or,
    /// for windows, the local aggregator's index on its node.
    [[nodiscard]] SlotControl& slot(int aggregator, std::int64_t round) const;
    [[nodiscard]] ContentsQuery& query(int aggregator, std::int64_t round) const;
    [[nodiscard]] std::span<std::byte> buffers() const { return buffers_; }

  private:
    [[nodiscard]] SharedSegment::Options options(const Topology& topology) const;
    void decide(const Topology& topology);
    void lay_out(const Topology& topology);

    SharedMemory memory_;
    std::unique_ptr<SharedSegment> making_;  ///< set while a new segment is made
    Bytes capacity_ = 0;
    Bytes wanted_ = 0;
    bool cross_memory_ = false;  ///< cross-memory access is verified
    bool cross_memory_wanted_ = false;
    bool shared_refused_ = false;
    bool cross_memory_refused_ = false;
    Error refusal_;               ///< agreed on by all ranks
    std::vector<int> processes_;  ///< process numbers, by index on the node
    RankMap rank_map_;            ///< the rank map of all ranks
    Awake* awake_ = nullptr;
    RankMailbox* mailboxes_ = nullptr;
    SlotControl* slots_ = nullptr;
    ContentsQuery* queries_ = nullptr;
    std::span<std::byte> buffers_;
};

}  // namespace oratorio
