// SPDX-License-Identifier: BSD-3-Clause
#include "memory/buffer_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "memory/machine_memory.hpp"

namespace oratorio {

namespace {

/// Maps memory with a protected page after it, so that overrunning a buffer faults and does not
/// damage another one. Returns null when there is no memory.
std::byte* map(Bytes bytes) {
    const auto length = static_cast<std::size_t>(bytes);
    void* const memory = mmap(nullptr, length + page_bytes(), PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (mprotect(memory, length, PROT_READ | PROT_WRITE) == 0)
        return static_cast<std::byte*>(memory);
    munmap(memory, length + page_bytes());
    return nullptr;
}

void unmap(std::byte* memory, Bytes bytes) {
    munmap(memory, static_cast<std::size_t>(bytes + page_bytes()));
}

}  // namespace

BufferPool::~BufferPool() {
    for (const Block& block : free_) unmap(block.data, block.bytes);
}

BufferPool::Lease BufferPool::take(Bytes bytes) {
    const Bytes page = page_bytes();
    const Bytes wanted = std::max(page, (bytes + page - 1) / page * page);
    const auto fits = std::find_if(free_.begin(), free_.end(),
                                   [&](const Block& block) { return block.bytes == wanted; });
    if (fits != free_.end()) {
        const Block block = *fits;
        free_.erase(fits);
        return {this, block, bytes};
    }
    std::byte* const memory = map(wanted);
    if (memory == nullptr) return {};
    held_ += wanted;
    return {this, {memory, wanted}, bytes};
}

void BufferPool::give_back(Block block) {
    // Without this limit, buffers of a size that is no longer used (new hints change it) would stay
    // forever.
    constexpr std::size_t kept_max = 32;
    if (free_.size() >= kept_max) free_oldest();
    free_.push_back(block);
}

void BufferPool::trim(Bytes bytes) {
    while (held_ > bytes && !free_.empty()) free_oldest();
}

void BufferPool::free_oldest() {
    unmap(free_.front().data, free_.front().bytes);
    held_ -= free_.front().bytes;
    free_.erase(free_.begin());
}

BufferPool::Lease& BufferPool::Lease::operator=(Lease&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(block_, other.block_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

BufferPool::Lease::~Lease() {
    if (block_.data != nullptr) pool_->give_back(block_);
}

}  // namespace oratorio
