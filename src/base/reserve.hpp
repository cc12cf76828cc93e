// SPDX-License-Identifier: BSD-3-Clause
// Reserve: memory set aside for the small needs of this library, for when the system gives none. A
// rank inside a collective call can't step back half way: the others count on what it sends. So
// what operator new is refused by malloc it takes from here, and a collective call that finds too
// little here is refused before its first message, on all ranks alike.
// docs/decisions/0018-memory-in-collectives.md
//
// One per process, used by any thread.
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
    /// `first` is there from the beginning, aligned to 16 bytes, and stays the caller's.
    constexpr explicit Reserve(std::span<std::byte> first) : arenas_{Arena{first}}, count_(1) {}
    Reserve(const Reserve&) = delete;
    Reserve& operator=(const Reserve&) = delete;
    ~Reserve() = default;  ///< what was mapped stays: blocks are given back at any time

    /// Memory aligned to 16 bytes, or null. No block is larger than a quarter of what it comes
    /// from, so that a large need, which its caller can do without, leaves enough for the small
    /// ones.
    [[nodiscard]] void* take(std::size_t bytes);
    /// False for memory that isn't from here.
    [[nodiscard]] bool give_back(void* memory);
    /// There is room for `bytes` in one place, made by mapping more where need be; false when the
    /// system gives none.
    [[nodiscard]] bool make_room(std::size_t bytes);

    /// Bytes in use, and the most that ever were at once.
    [[nodiscard]] std::size_t used() const { return used_; }
    [[nodiscard]] std::size_t most_used() const { return most_used_; }

  private:
    static constexpr std::size_t kArenas = 16;
    struct Block {
        std::size_t bytes = 0;  ///< this head included
        Block* next = nullptr;  ///< while it is free; by address
    };
    struct Arena {
        std::span<std::byte> memory;
        Block* free = nullptr;
        bool begun = false;  ///< else nothing was ever taken, and nothing of it touched
    };
    static Block* take_from(Arena& arena, std::size_t bytes);
    static void give_back_to(Arena& arena, Block* block);
    [[nodiscard]] static std::size_t largest(const Arena& arena);

    std::mutex mutex_;
    std::array<Arena, kArenas> arenas_;
    std::atomic<std::size_t> count_;  ///< arenas that are there; they never go
    std::atomic<std::size_t> used_{0};
    std::atomic<std::size_t> most_used_{0};
};

/// The one that operator new falls back on.
[[nodiscard]] Reserve& reserve();

/// Before a collective call of so many ranks: no error when there is room for all that it needs.
[[nodiscard]] Error ready_for_collective(Rank ranks);

}  // namespace oratorio
