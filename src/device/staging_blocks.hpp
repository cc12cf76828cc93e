// SPDX-License-Identifier: BSD-3-Clause
// StagingBlocks: bounce buffers in host memory for device data. They are kept from access to
// access, because pinning memory takes longer than copying as many bytes. The library maps the
// memory itself, and not through the driver, so a program that resets its device only unpins the
// memory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

class DeviceQueue;

/// Holds at most as many blocks as were in use at the same time. Thread-safe.
class StagingBlocks {
  public:
    /// A block has two pieces, so that one can be copied while the other is written or read.
    static constexpr int kPieces = 2;
    static constexpr Bytes kPieceBytes = 4 << 20;
    /// Length of the window, which holds a stretch of device memory of which only some bytes are
    /// needed.
    static constexpr Bytes kWindowBytes = 1 << 20;

    class Lease;
    StagingBlocks() = default;
    ~StagingBlocks();
    StagingBlocks(const StagingBlocks&) = delete;
    StagingBlocks& operator=(const StagingBlocks&) = delete;

    /// Takes a block; returns an empty lease, which converts to false, if there is no memory.
    /// `queue` pins new blocks.
    [[nodiscard]] Lease take(DeviceQueue& queue);

  private:
    std::mutex mutex_;  ///< guards free_
    std::vector<std::byte*> free_;
};

class StagingBlocks::Lease {
  public:
    Lease() = default;
    Lease(StagingBlocks& blocks, std::byte* memory) : blocks_(&blocks), memory_(memory) {}
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    explicit operator bool() const { return memory_ != nullptr; }
    [[nodiscard]] std::span<std::byte> piece(int which) const {
        return {memory_ + which * kPieceBytes, static_cast<std::size_t>(kPieceBytes)};
    }
    [[nodiscard]] std::span<std::byte> window() const {
        return {memory_ + kPieces * kPieceBytes, static_cast<std::size_t>(kWindowBytes)};
    }

  private:
    StagingBlocks* blocks_ = nullptr;
    std::byte* memory_ = nullptr;
};

}  // namespace oratorio
