// SPDX-License-Identifier: BSD-3-Clause
// Reserve: memory kept for this library's small allocations when the system has none left. A rank
// inside a collective call can't stop in the middle, because other ranks wait for its messages. So
// operator new takes memory from the reserve when malloc fails. Each rank checks its reserve
// before the first message of a collective call; if a rank finds too little, the call fails on all
// ranks. See docs/internals/decisions/memory.md.
//
// Each process has one reserve, which reserve() returns. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>

#include "base/error.hpp"

namespace oratorio {

class Reserve {
  public:
    /// `first` is the reserve's first memory, aligned to 16 bytes. The caller keeps ownership.
    constexpr explicit Reserve(std::span<std::byte> first) : arenas_{Arena{first}}, count_(1) {}
    Reserve(const Reserve&) = delete;
    Reserve& operator=(const Reserve&) = delete;
    ~Reserve() = default;  ///< mapped memory stays, because blocks can be returned at any time

    /// Returns memory aligned to 16 bytes, or null. No block is larger than a quarter of its arena,
    /// so that large requests, whose callers can continue without the memory, leave enough for
    /// small ones.
    [[nodiscard]] void* take(std::size_t bytes);
    /// Returns a block to the reserve. Returns false for memory that isn't the reserve's.
    [[nodiscard]] bool give_back(void* memory);
    /// Ensures that one free block has room for `bytes`, and maps more memory if necessary. Returns
    /// false when the system has none.
    [[nodiscard]] bool make_room(std::size_t bytes);

    /// used() returns the bytes in use, most_used() their maximum so far.
    [[nodiscard]] std::size_t used() const { return used_; }
    [[nodiscard]] std::size_t most_used() const { return most_used_; }

  private:
    static constexpr std::size_t kArenas = 16;
    struct Block {
        std::size_t bytes = 0;  ///< length of the block, including this header
        Block* next = nullptr;  ///< next free block by address, if this one is free
    };
    struct Arena {
        std::span<std::byte> memory;
        Block* free = nullptr;
        bool begun = false;  ///< false, with the memory untouched, until the first block is taken
    };
    // REQUIRES for these three functions: mutex_ is held.
    static Block* take_from(Arena& arena, std::size_t bytes);
    static void give_back_to(Arena& arena, Block* block);
    [[nodiscard]] static std::size_t largest(const Arena& arena);

    std::mutex mutex_;
    std::array<Arena, kArenas> arenas_;
    /// Number of arenas in use; they are never removed. The release in make_room() publishes the
    /// new arena to the acquire load in give_back(), which searches the arenas without mutex_.
    std::atomic<std::size_t> count_;
    // Written under mutex_, and read without it for reports.
    std::atomic<std::size_t> used_{0};
    std::atomic<std::size_t> most_used_{0};
};

/// Returns the reserve that operator new falls back on.
[[nodiscard]] Reserve& reserve();

/// Ensures, before a collective call of `ranks` ranks, that the reserve has room for the call's
/// small allocations. Returns an error if it can't.
[[nodiscard]] Error ready_for_collective(Rank ranks);

}  // namespace oratorio
