// SPDX-License-Identifier: BSD-3-Clause
// Kept memory: large blocks that go from one use to the next, because fresh pages cost more than
// what is written to them. Datatypes with long lists that a program makes anew for each access are
// why (mpi/decode). Owned by whoever wants blocks to be kept, and gone with the last of them; users
// of blocks don't count. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

namespace oratorio {

class KeptMemory : public std::enable_shared_from_this<KeptMemory> {
  public:
    /// Shorter blocks are malloc's business.
    static constexpr std::size_t kBlockMin = std::size_t{64} << 10;
    /// What lies idle at most, all blocks together.
    static constexpr std::size_t kIdleMax = std::size_t{64} << 20;

    KeptMemory() = default;
    ~KeptMemory();
    KeptMemory(const KeptMemory&) = delete;
    KeptMemory& operator=(const KeptMemory&) = delete;

    /// `bytes` of memory, contents undefined: a block that lay idle and is no more than twice as
    /// long, else one from operator new. `from` may be null; the block may outlive it.
    [[nodiscard]] static std::shared_ptr<void> take(std::size_t bytes,
                                                    const std::shared_ptr<KeptMemory>& from);
    [[nodiscard]] std::size_t idle_bytes() const;

  private:
    struct Block {
        void* data = nullptr;
        std::size_t bytes = 0;
    };
    struct GiveBack;
    Block idle_one(std::size_t bytes);
    void give_back(Block block);
    void free_oldest();

    mutable std::mutex mutex_;
    std::array<Block, 16> idle_;  ///< the oldest first
    std::size_t count_ = 0;
    std::size_t idle_bytes_ = 0;
};

}  // namespace oratorio
