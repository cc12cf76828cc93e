// SPDX-License-Identifier: BSD-3-Clause
// BlockCache: keeps large blocks of memory for reuse, because the first touch of a fresh page costs
// more than writing data to it. Used for datatypes with long lists that a program makes again for
// each access (mpi/decode). Blocks in use don't keep the cache alive, and may outlive it.
// Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

namespace oratorio {

class BlockCache : public std::enable_shared_from_this<BlockCache> {
  public:
    /// Shorter blocks come from operator new and are not cached.
    static constexpr std::size_t kBlockMin = std::size_t{64} << 10;
    /// Maximum total size of the free blocks, in bytes.
    static constexpr std::size_t kIdleMax = std::size_t{64} << 20;

    BlockCache() = default;
    ~BlockCache();
    BlockCache(const BlockCache&) = delete;
    BlockCache& operator=(const BlockCache&) = delete;

    /// Returns `bytes` of memory with undefined contents: a free block at most twice as long, else
    /// a new one from operator new. `from` may be null. The block may outlive the cache.
    [[nodiscard]] static std::shared_ptr<void> take(std::size_t bytes,
                                                    const std::shared_ptr<BlockCache>& from);
    [[nodiscard]] std::size_t idle_bytes() const;

  private:
    struct Block {
        void* data = nullptr;
        std::size_t bytes = 0;
    };
    struct GiveBack;
    Block idle_one(std::size_t bytes);
    void give_back(Block block);
    /// Frees the block that has been idle the longest. REQUIRES: mutex_ is held, or the destructor
    /// is the caller.
    void free_oldest();

    mutable std::mutex mutex_;
    std::array<Block, 16> idle_;  ///< oldest first
    std::size_t count_ = 0;
    std::size_t idle_bytes_ = 0;
};

}  // namespace oratorio
