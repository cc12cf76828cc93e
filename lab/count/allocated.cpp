// SPDX-License-Identifier: BSD-3-Clause
#include "count/allocated.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

oratorio::count::Allocated counted;
// Space before a block, which holds the block's size.
constexpr std::size_t kHead = alignof(std::max_align_t);

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    auto* const block = static_cast<char*>(std::malloc(kHead + size));
    if (block == nullptr) std::abort();
    std::memcpy(block, &size, sizeof size);
    counted.now += static_cast<oratorio::Bytes>(size);
    counted.most = std::max(counted.most, counted.now);
    return block + kHead;
}
/// stable_sort calls this version. It is defined here because a sanitizer defines its own, with
/// blocks that have no size before them.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return operator new(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    if (memory == nullptr) return;
    char* const block = static_cast<char*>(memory) - kHead;
    std::size_t size = 0;
    std::memcpy(&size, block, sizeof size);
    counted.now -= static_cast<oratorio::Bytes>(size);
    std::free(block);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}

namespace oratorio::count {

Allocated allocated() {
    return counted;
}

void reset_most() {
    counted.most = counted.now;
}

}  // namespace oratorio::count
