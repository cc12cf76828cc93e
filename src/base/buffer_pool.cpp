#include "base/buffer_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace oratorio {

namespace {

constexpr Bytes kPage = 4096;

}  // namespace

BufferPool::~BufferPool() {
    for (const Block& block : free_) munmap(block.data, static_cast<std::size_t>(block.bytes));
}

BufferPool::Lease BufferPool::take(Bytes bytes) {
    const Bytes wanted = std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
    const auto fits = std::find_if(free_.begin(), free_.end(),
                                   [&](const Block& block) { return block.bytes == wanted; });
    if (fits != free_.end()) {
        const Block block = *fits;
        free_.erase(fits);
        return {this, block, bytes};
    }
    void* memory = mmap(nullptr, static_cast<std::size_t>(wanted), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {};
    held_ += wanted;
    return {this, {static_cast<std::byte*>(memory), wanted}, bytes};
}

void BufferPool::give_back(Block block) {
    // A changed size (new hints) would otherwise leave the old buffers behind for ever.
    constexpr std::size_t kept_max = 32;
    if (free_.size() >= kept_max) free_oldest();
    free_.push_back(block);
}

void BufferPool::trim(Bytes bytes) {
    while (held_ > bytes && !free_.empty()) free_oldest();
}

void BufferPool::free_oldest() {
    munmap(free_.front().data, static_cast<std::size_t>(free_.front().bytes));
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
