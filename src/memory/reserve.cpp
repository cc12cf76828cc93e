// SPDX-License-Identifier: BSD-3-Clause
#include "memory/reserve.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>

namespace oratorio {

namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kFirst = 4 << 20;
// Memory that must be free before a collective call, for a few thousand small blocks and some lists
// with an entry per rank. The calls in tests/sim/memory_test need less than a quarter of that.
constexpr std::size_t kPerCall = 1 << 20;
constexpr std::size_t kPerRank = 2 << 10;

constexpr std::size_t round_up(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool contains(std::span<const std::byte> memory, const void* address) {
    const std::less<const void*> before;
    return !before(address, memory.data()) && before(address, memory.data() + memory.size());
}

// The reserve's first arena. Its pages take no memory until they are touched, which happens only
// after malloc has failed.
alignas(kAlignment) constinit std::array<std::byte, kFirst> first_memory{};
constinit Reserve the_reserve{std::span(first_memory)};

}  // namespace

Reserve& reserve() {
    return the_reserve;
}

Error ready_for_collective(Rank ranks) {
    const std::size_t wanted = kPerCall + kPerRank * static_cast<std::size_t>(ranks);
    if (the_reserve.make_room(wanted)) return {};
    return Error::make(ErrorKind::no_memory, "not enough memory to begin a collective call");
}

/// Takes the arena's first free block that is long enough. The part after the first `bytes` stays
/// free if it has room for a block.
Reserve::Block* Reserve::take_from(Arena& arena, std::size_t bytes) {
    if (!arena.begun) {
        arena.free = new (arena.memory.data()) Block{arena.memory.size(), nullptr};
        arena.begun = true;
    }
    for (Block** link = &arena.free; *link != nullptr; link = &(*link)->next) {
        Block* const block = *link;
        if (block->bytes < bytes) continue;
        if (block->bytes - bytes > sizeof(Block)) {
            auto* const rest = reinterpret_cast<std::byte*>(block) + bytes;
            *link = new (rest) Block{block->bytes - bytes, block->next};
            block->bytes = bytes;
        } else {
            *link = block->next;
        }
        return block;
    }
    return nullptr;
}

void Reserve::give_back_to(Arena& arena, Block* block) {
    const std::less<const Block*> before;
    const auto end_of = [](Block* one) {
        return reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(one) + one->bytes);
    };
    Block* last = nullptr;
    Block* next = arena.free;
    for (; next != nullptr && before(next, block); next = next->next) last = next;
    block->next = next;
    (last != nullptr ? last->next : arena.free) = block;
    if (next != nullptr && end_of(block) == next) {
        block->bytes += next->bytes;
        block->next = next->next;
    }
    if (last != nullptr && end_of(last) == block) {
        last->bytes += block->bytes;
        last->next = block->next;
    }
}

std::size_t Reserve::largest(const Arena& arena) {
    if (!arena.begun) return arena.memory.size();
    std::size_t most = 0;
    for (const Block* block = arena.free; block != nullptr; block = block->next)
        most = std::max(most, block->bytes);
    return most;
}

void* Reserve::take(std::size_t bytes) {
    if (bytes > PTRDIFF_MAX) return nullptr;
    const std::size_t whole = round_up(bytes) + sizeof(Block);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < count_; ++i) {
        if (whole > arenas_[i].memory.size() / 4) continue;
        if (Block* const block = take_from(arenas_[i], whole)) {
            used_ += block->bytes;
            most_used_ = std::max<std::size_t>(most_used_, used_);
            return block + 1;
        }
    }
    return nullptr;
}

bool Reserve::give_back(void* memory) {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        if (!contains(arenas_[i].memory, memory)) continue;
        const std::lock_guard lock(mutex_);
        Block* const block = static_cast<Block*>(memory) - 1;
        used_ -= block->bytes;
        give_back_to(arenas_[i], block);
        return true;
    }
    return false;
}

bool Reserve::make_room(std::size_t bytes) {
    const std::size_t whole = round_up(bytes) + sizeof(Block);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < count_; ++i)
        if (largest(arenas_[i]) >= whole) return true;
    if (count_ == kArenas) return false;
    const std::size_t length = 4 * whole;
    void* const memory =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    arenas_[count_] = Arena{{static_cast<std::byte*>(memory), length}};
    count_.fetch_add(1, std::memory_order_release);
    return true;
}

}  // namespace oratorio

// The replacements of operator new and delete, for the library and its tests. The library doesn't
// export them, so the program's own are unaffected. No type that the library makes with new needs
// more than the default alignment. They are in this file so that every program that links the
// reserve also links them.

void* operator new(std::size_t bytes) {
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    if (void* const memory = oratorio::reserve().take(bytes)) return memory;
    throw std::bad_alloc();
}

// Serves std::stable_sort and other callers that can do without memory, so it never uses the
// reserve.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void operator delete(void* memory) noexcept {
    if (memory != nullptr && !oratorio::reserve().give_back(memory)) std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
    operator delete(memory);
}
