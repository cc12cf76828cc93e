// SPDX-License-Identifier: BSD-3-Clause
// NodeMemory: what the ranks of one node share, for one file after the other: a bell and a desk per
// rank, control words per sub-buffer, and the collective buffers. Made at the first access that
// wants it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bell.hpp"
#include "base/shared_segment.hpp"
#include "plan/plan.hpp"

namespace oratorio {

/// Control of one sub-buffer. `round` is written last when it is opened; participants then move
/// their data and check in.
struct alignas(64) SlotControl {
    std::atomic<std::uint64_t> round{0};    ///< key of the round that is open in it
    std::atomic<std::uint64_t> claimed{0};  ///< key of the last round that a rank set out to load
    std::atomic<std::int64_t> to_come{0};   ///< participants that haven't checked in
    Offset begin = 0;                       ///< of the region
    Offset valid_until = 0;                 ///< see Exchange::open
    Bytes buffer = 0;                       ///< where the sub-buffer lies in buffers()
    Bytes given = -1;                       ///< where its mask lies there; -1: it has none
    std::atomic<std::int64_t> bytes{0};     ///< moved by those who have
};

/// One question of an aggregator to its participants: what will this round hold?
struct alignas(64) Question {
    std::atomic<std::uint64_t> round{0};
    std::atomic<std::int64_t> to_come{0};
    Offset begin = 0;
    std::atomic<std::int64_t> bytes{0};
    std::atomic<std::uint64_t> coverage{0};
    std::atomic<Offset> first{INT64_MAX};
    std::atomic<Offset> last{INT64_MIN};
};

/// Of all ranks of the node.
struct alignas(64) Awake {
    std::atomic<int> ranks{0};  ///< at work, and don't wait for another (exchange/waking)
};

/// Where other ranks find a rank, and what it owns (exchange/cross_memory).
struct Desk {
    explicit Desk(Before usual) : bell(usual) {}
    Bell bell;
    /// Key of the last access that the rank has entered (run/arrival).
    alignas(64) std::atomic<std::uint64_t> entered{0};
    /// Key of the access that the rest speaks of; written last.
    alignas(64) std::atomic<std::uint64_t> ready{0};
    std::uint64_t layouts = 0;  ///< address of the encoded layouts: file, then memory
    Bytes file_layout_bytes = 0;
    Bytes memory_layout_bytes = 0;
    std::uint64_t buffer = 0;  ///< address of the user's buffer
    Bytes from = 0;            ///< as in Access
    Bytes bytes = 0;
    Offset plan_begin = 0;                             ///< of its plan's hull
    std::atomic<std::int64_t> received{0};             ///< bytes put into its memory (reads)
    alignas(64) std::atomic<std::uint64_t> served{0};  ///< an aggregator: last access it finished
};

class NodeMemory {
  public:
    static constexpr int rounds_max = kSlotsMost;  ///< of one aggregator

    /// Collective, made in steps: true when it is decided. Makes sure that there are `bytes` of
    /// collective buffers on each node; does nothing when there are. `cross_memory`: ranks must be
    /// able to reach into each other's memory. Where that can't be had all ranks have the same
    /// refusal(), and won't try again.
    Result<bool> prepare(Transport& transport, Bytes bytes, bool cross_memory);
    /// On all ranks alike, between two files: forgets refusals, and the memory if its collective
    /// buffers are larger than `kept_max`.
    void tidy(Bytes kept_max);
    [[nodiscard]] const Error& refusal() const { return refusal_; }
    [[nodiscard]] bool shared_refused() const { return shared_refused_; }
    [[nodiscard]] bool cross_memory_refused() const { return cross_memory_refused_; }
    /// Where there is no node memory, on all ranks alike, nothing can be shared.
    [[nodiscard]] static Agreed<NodeSharing> sharing(const NodeMemory* node);

    [[nodiscard]] Bell& bell(Rank rank) const { return desk(rank).bell; }
    [[nodiscard]] Desk& desk(Rank rank) const;
    [[nodiscard]] int process(Rank rank) const {
        return processes_[static_cast<std::size_t>(place(rank))];
    }
    [[nodiscard]] std::atomic<int>& awake() const { return awake_->ranks; }
    /// Of a rank among those of its node.
    [[nodiscard]] int place(Rank rank) const { return seats_.seat(rank).place; }
    /// By index of the aggregator in the plan; or by place of the local aggregator.
    [[nodiscard]] SlotControl& slot(int aggregator, std::int64_t round) const;
    [[nodiscard]] Question& question(int aggregator, std::int64_t round) const;
    [[nodiscard]] std::span<std::byte> buffers() const { return buffers_; }

  private:
    [[nodiscard]] SharedSegment::Wish wish(const Topology& topology) const;
    void decide(const Topology& topology);
    void lay_out(const Topology& topology);

    SharedMemory memory_;
    std::unique_ptr<SharedSegment> making_;  ///< a larger one, or one that is proved
    Bytes capacity_ = 0;
    Bytes wanted_ = 0;
    bool cross_memory_ = false;  ///< proved
    bool cross_memory_wanted_ = false;
    bool shared_refused_ = false;
    bool cross_memory_refused_ = false;
    Error refusal_;               ///< what all ranks agreed on
    std::vector<int> processes_;  ///< by place
    Placement seats_;             ///< of all ranks
    Awake* awake_ = nullptr;
    Desk* desks_ = nullptr;
    SlotControl* slots_ = nullptr;
    Question* questions_ = nullptr;
    std::span<std::byte> buffers_;
};

}  // namespace oratorio
