// SPDX-License-Identifier: BSD-3-Clause
// BufferPool: large page-aligned buffers that outlive one access, because touching fresh pages
// costs more than copying through warm ones. Successive files of the same ranks share one pool. Not
// thread-safe. Free buffers are reused for requests of exactly their size in pages; at most 32 of
// them are kept.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

class BufferPool {
  public:
    class Lease;
    BufferPool() = default;
    ~BufferPool();
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;

    /// Returns a lease of `bytes` of memory with undefined contents, or an empty lease when there
    /// is no memory. The end of the lease returns the memory to the pool.
    [[nodiscard]] Lease take(Bytes bytes);
    /// Frees memory that isn't in use, the oldest first, until the pool holds no more than `bytes`.
    void trim(Bytes bytes);
    /// Returns the bytes that the pool holds, in use or free.
    [[nodiscard]] Bytes held() const { return held_; }

  private:
    struct Block {
        std::byte* data = nullptr;
        Bytes bytes = 0;
    };
    void give_back(Block block);
    void free_oldest();

    std::vector<Block> free_;
    Bytes held_ = 0;
};

class BufferPool::Lease {
  public:
    Lease() = default;
    Lease(BufferPool* pool, Block block, Bytes bytes) : pool_(pool), block_(block), bytes_(bytes) {}
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    [[nodiscard]] std::span<std::byte> span() const {
        return {block_.data, static_cast<std::size_t>(bytes_)};
    }

  private:
    BufferPool* pool_ = nullptr;
    Block block_;
    Bytes bytes_ = 0;
};

}  // namespace oratorio
