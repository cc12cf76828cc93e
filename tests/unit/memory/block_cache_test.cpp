// SPDX-License-Identifier: BSD-3-Clause
// The block cache: blocks that are reused, the bound on idle memory, and blocks that outlive the
// cache.
#include "memory/block_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace oratorio::test::block_cache_test {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

TEST(BlockCache, ABlockIsReusedForItsLengthDownToHalfOfIt) {
    const auto memory = std::make_shared<BlockCache>();
    void* const block = BlockCache::take(kMebi, memory).get();
    EXPECT_EQ(memory->idle_bytes(), kMebi);
    for (const std::size_t bytes : {kMebi, kMebi - 1, kMebi / 2}) {
        const auto again = BlockCache::take(bytes, memory);
        EXPECT_EQ(again.get(), block) << bytes;
        EXPECT_EQ(memory->idle_bytes(), 0U);
    }
    EXPECT_EQ(memory->idle_bytes(), kMebi) << "the block keeps its length";
    for (const std::size_t bytes : {kMebi + 1, kMebi / 2 - 1}) {
        const auto other = BlockCache::take(bytes, memory);
        EXPECT_NE(other.get(), block) << bytes;
        EXPECT_GE(memory->idle_bytes(), kMebi);
    }
}

TEST(BlockCache, TheShortestBlockThatWillDoIsTaken) {
    const auto memory = std::make_shared<BlockCache>();
    {
        const auto longest = BlockCache::take(9 * kMebi, memory);
        const auto shortest = BlockCache::take(6 * kMebi, memory);
        const auto middle = BlockCache::take(7 * kMebi, memory);
    }
    ASSERT_EQ(memory->idle_bytes(), 22 * kMebi);
    const auto first = BlockCache::take(5 * kMebi, memory);
    EXPECT_EQ(memory->idle_bytes(), 16 * kMebi);
    const auto second = BlockCache::take(5 * kMebi, memory);
    EXPECT_EQ(memory->idle_bytes(), 9 * kMebi);
}

TEST(BlockCache, IdleMemoryIsBounded) {
    const auto memory = std::make_shared<BlockCache>();
    std::vector<std::shared_ptr<void>> blocks;
    for (int i = 0; i < 40; ++i)
        blocks.push_back(BlockCache::take((i % 2 == 0 ? 3 : 7) * kMebi, memory));
    for (auto& block : blocks) {
        block.reset();
        EXPECT_LE(memory->idle_bytes(), BlockCache::kIdleMax);
    }
    EXPECT_GT(memory->idle_bytes(), BlockCache::kIdleMax - 7 * kMebi);
    BlockCache::take(BlockCache::kIdleMax + 1, memory).reset();
    EXPECT_GT(memory->idle_bytes(), 0U) << "a block that is too long evicts nothing";
    for (int i = 0; i < 40; ++i) blocks[0] = BlockCache::take(BlockCache::kBlockMin, memory);
    blocks.clear();
    EXPECT_LE(memory->idle_bytes(), BlockCache::kIdleMax);
}

TEST(BlockCache, ShortBlocksAreNotKept) {
    const auto memory = std::make_shared<BlockCache>();
    BlockCache::take(BlockCache::kBlockMin - 1, memory).reset();
    EXPECT_EQ(memory->idle_bytes(), 0U);
    BlockCache::take(BlockCache::kBlockMin, memory).reset();
    EXPECT_EQ(memory->idle_bytes(), BlockCache::kBlockMin);
}

TEST(BlockCache, ABlockOutlivesItsCache) {
    auto memory = std::make_shared<BlockCache>();
    const std::weak_ptr<BlockCache> gone = memory;
    const auto block = BlockCache::take(kMebi, memory);
    memory.reset();
    EXPECT_TRUE(gone.expired()) << "its users don't hold it";
    static_cast<char*>(block.get())[kMebi - 1] = 1;
    EXPECT_NE(BlockCache::take(kMebi, nullptr), nullptr);
}

}  // namespace
}  // namespace oratorio::test::block_cache_test
