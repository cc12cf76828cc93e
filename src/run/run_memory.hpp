// SPDX-License-Identifier: BSD-3-Clause
// RunMemory: the buffers of one access on one rank, had before its first message: later a rank
// could not step back without others waiting for it.
#pragma once

#include "base/buffer_pool.hpp"
#include "plan/plan.hpp"

namespace oratorio {

class RunMemory {
  public:
    explicit RunMemory(BufferPool& pool) : pool_(pool) {}

    /// For whatever role this rank will have; false when there is no memory.
    [[nodiscard]] bool take_for_collective(Direction direction, const PlanOptions& options,
                                           const Topology& topology);
    /// For a rank that is its own aggregator and sends no messages, by its plan; used instead until
    /// start_over().
    [[nodiscard]] bool take_for_alone(const Plan& plan);
    [[nodiscard]] bool take_for_staging(Bytes bytes);
    /// The access is planned anew: what was taken for a collective one is used again.
    void start_over() { alone_ = {}; }

    [[nodiscard]] std::span<std::byte> messages() const { return used().messages.span(); }
    /// Where the options ask for local aggregators: GroupRuns::bytes_needed of the largest group.
    [[nodiscard]] std::span<std::byte> group() const { return used().group.span(); }
    /// plan.buffer_bytes() of the access's plan, or the staging buffer.
    [[nodiscard]] std::span<std::byte> collective() const { return used().collective.span(); }
    /// Writes: RegionWriter::scratch_bytes.
    [[nodiscard]] std::span<std::byte> scratch() const { return used().scratch.span(); }

  private:
    struct Leases {
        BufferPool::Lease messages;
        BufferPool::Lease group;
        BufferPool::Lease collective;
        BufferPool::Lease scratch;
        [[nodiscard]] bool has_all(Direction direction) const;
    };
    [[nodiscard]] const Leases& used() const {
        return alone_.collective.span().empty() ? shared_ : alone_;
    }

    BufferPool& pool_;
    Leases shared_;
    Leases alone_;
};

}  // namespace oratorio
