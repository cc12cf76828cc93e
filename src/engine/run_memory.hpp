// SPDX-License-Identifier: BSD-3-Clause
// RunMemory: the buffers of one access on one rank. Those that other ranks depend on are reserved
// before the first message: after that, a rank can't withdraw without leaving others waiting.
#pragma once

#include <utility>

#include "memory/buffer_pool.hpp"
#include "plan/plan.hpp"

namespace oratorio {

class RunMemory {
  public:
    struct Leases {
        BufferPool::Lease messages;
        BufferPool::Lease group;
        BufferPool::Lease collective;
        BufferPool::Lease scratch;
        [[nodiscard]] bool has_all(Direction direction) const;
    };

    /// `scratch_bytes` is the size of the buffer for filling holes.
    RunMemory(BufferPool& pool, Bytes scratch_bytes) : pool_(pool), scratch_bytes_(scratch_bytes) {}

    /// Takes over buffers that were kept with a plan.
    void adopt(Leases kept) { shared_ = std::move(kept); }
    /// Gives the collective memory away, to be kept with a plan. REQUIRES: nothing uses it any
    /// more.
    [[nodiscard]] Leases release() { return std::exchange(shared_, {}); }

    /// Reserves memory for any role this rank may get, beyond the adopted buffers. Returns false if
    /// there isn't enough. REQUIRES: called before the first message of the access.
    [[nodiscard]] bool take_for_collective(Direction direction, const PlanOptions& options,
                                           const Topology& topology);
    /// Reserves the buffers of `plan` for a rank that is its own aggregator and sends no messages.
    /// Replaces the collective memory until start_over().
    [[nodiscard]] bool take_for_alone(const Plan& plan);
    /// Reserves the bounce buffer of list I/O or data shipping. Replaces the collective memory
    /// until start_over().
    [[nodiscard]] bool take_for_staging(Bytes bytes);
    /// Prepares for a second plan: the memory reserved for the collective access is used again.
    void start_over() { alone_ = {}; }

    [[nodiscard]] std::span<std::byte> messages() const { return used().messages.span(); }
    /// Returns the memory of local aggregators: GroupData::bytes_needed of the largest group. Empty
    /// if the access can't have local aggregators (may_have_layers).
    [[nodiscard]] std::span<std::byte> group() const { return used().group.span(); }
    /// Returns the collective buffer, at least plan.buffer_bytes() of the access's plan, or the
    /// bounce buffer.
    [[nodiscard]] std::span<std::byte> collective() const { return used().collective.span(); }
    /// Returns the buffer for filling holes; empty in reads.
    [[nodiscard]] std::span<std::byte> scratch() const { return used().scratch.span(); }

  private:
    void grow(BufferPool::Lease& lease, Bytes bytes);
    [[nodiscard]] const Leases& used() const {
        return alone_.collective.span().empty() ? shared_ : alone_;
    }

    BufferPool& pool_;
    Bytes scratch_bytes_;
    Leases shared_;
    Leases alone_;
};

}  // namespace oratorio
