// SPDX-License-Identifier: BSD-3-Clause
#include "device/staging_blocks.hpp"

#include <sys/mman.h>

#include <utility>

#include "device/driver.hpp"

namespace oratorio {

namespace {

constexpr auto kBlockBytes = static_cast<std::size_t>(
    StagingBlocks::kPieces * StagingBlocks::kPieceBytes + StagingBlocks::kWindowBytes);

}  // namespace

StagingBlocks::~StagingBlocks() {
    for (std::byte* const block : free_) munmap(block, kBlockBytes);
}

StagingBlocks::Lease StagingBlocks::take(DeviceQueue& queue) {
    {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            std::byte* const block = free_.back();
            free_.pop_back();
            return {*this, block};
        }
    }
    void* const memory =
        mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {};
    Lease lease(*this, static_cast<std::byte*>(memory));
    queue.pin({static_cast<std::byte*>(memory), kBlockBytes});
    return lease;
}

StagingBlocks::Lease& StagingBlocks::Lease::operator=(Lease&& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(memory_, other.memory_);
    return *this;
}

StagingBlocks::Lease::~Lease() {
    if (memory_ == nullptr) return;
    const std::lock_guard lock(blocks_->mutex_);
    blocks_->free_.push_back(memory_);
}

}  // namespace oratorio
