// SPDX-License-Identifier: BSD-3-Clause
#include "memory/block_cache.hpp"

#include <algorithm>
#include <new>

namespace oratorio {

/// The deleter of a block: returns it to its cache, or frees it if the cache no longer exists.
struct BlockCache::GiveBack {
    std::weak_ptr<BlockCache> to;
    std::size_t bytes = 0;

    void operator()(void* data) const {
        if (const auto owner = to.lock())
            owner->give_back({data, bytes});
        else
            ::operator delete(data);
    }
};

BlockCache::~BlockCache() {
    while (count_ > 0) free_oldest();
}

std::shared_ptr<void> BlockCache::take(std::size_t bytes, const std::shared_ptr<BlockCache>& from) {
    if (from == nullptr || bytes < kBlockMin) return {::operator new(bytes), GiveBack{}};
    Block block = from->idle_one(bytes);
    if (block.data == nullptr) block = {::operator new(bytes), bytes};
    return {block.data, GiveBack{from, block.bytes}};
}

std::size_t BlockCache::idle_bytes() const {
    const std::lock_guard lock(mutex_);
    return idle_bytes_;
}

/// Takes the shortest free block of at least `bytes` and at most about twice as many bytes. Returns
/// an empty block if there is none.
BlockCache::Block BlockCache::idle_one(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto end = idle_.begin() + static_cast<std::ptrdiff_t>(count_);
    auto best = end;
    for (auto block = idle_.begin(); block != end; ++block) {
        if (block->bytes < bytes || block->bytes / 2 > bytes) continue;
        if (best == end || block->bytes < best->bytes) best = block;
    }
    if (best == end) return {};
    const Block found = *best;
    std::move(best + 1, end, best);
    --count_;
    idle_bytes_ -= found.bytes;
    return found;
}

void BlockCache::give_back(Block block) {
    const std::lock_guard lock(mutex_);
    if (block.bytes > kIdleMax) return ::operator delete(block.data);
    while (count_ == idle_.size() || idle_bytes_ + block.bytes > kIdleMax) free_oldest();
    idle_[count_++] = block;
    idle_bytes_ += block.bytes;
}

void BlockCache::free_oldest() {
    ::operator delete(idle_.front().data);
    idle_bytes_ -= idle_.front().bytes;
    std::move(idle_.begin() + 1, idle_.begin() + static_cast<std::ptrdiff_t>(count_),
              idle_.begin());
    --count_;
}

}  // namespace oratorio
