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
    [[nodiscard]] bool take_for_collective(Direction direction, const PlanOptions& options);
    /// For a rank that is its own aggregator, by its plan.
    [[nodiscard]] bool take_for_alone(const Plan& plan);
    [[nodiscard]] bool take_for_staging(Bytes bytes);

    [[nodiscard]] std::span<std::byte> messages() const { return messages_.span(); }
    /// plan.buffer_bytes() of the access's plan.
    [[nodiscard]] std::span<std::byte> collective() const { return collective_.span(); }
    /// Writes: RegionWriter::scratch_bytes.
    [[nodiscard]] std::span<std::byte> scratch() const { return scratch_.span(); }

  private:
    [[nodiscard]] bool has_all(Direction direction) const;

    BufferPool& pool_;
    BufferPool::Lease messages_;
    BufferPool::Lease collective_;
    BufferPool::Lease scratch_;
};

}  // namespace oratorio
