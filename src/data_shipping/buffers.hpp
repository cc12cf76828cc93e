// SPDX-License-Identifier: BSD-3-Clause
// The buffers of a process's agents: reserved when their threads start, two per thread, so that one
// request arrives while another is at the storage. Thread-safe. A buffer that no request has used
// takes no physical memory; the destructor returns all memory to the system.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

class AgentBuffers {
  public:
    AgentBuffers() = default;
    ~AgentBuffers() {
        if (all_ != nullptr) ::munmap(all_, length_);
    }
    AgentBuffers(const AgentBuffers&) = delete;
    AgentBuffers& operator=(const AgentBuffers&) = delete;

    /// Reserves the buffers. Returns false if there isn't enough memory.
    [[nodiscard]] bool make(std::size_t count, Bytes bytes) {
        bytes_ = static_cast<std::size_t>(bytes);
        if (__builtin_mul_overflow(count, bytes_, &length_)) return false;
        void* const mapped =
            ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return false;
        all_ = static_cast<std::byte*>(mapped);
        for (std::size_t i = 0; i < count; ++i) free_.push_back(all_ + i * bytes_);
        return true;
    }
    /// Returns the size of one buffer.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Returns a buffer. If all are in use, returns an empty span, and is_wanted() is true until a
    /// take() succeeds.
    [[nodiscard]] std::span<std::byte> take() {
        const std::lock_guard hold(lock_);
        is_wanted_ = free_.empty();
        if (free_.empty()) return {};
        std::byte* const taken = free_.back();
        free_.pop_back();
        return {taken, bytes_};
    }
    void give_back(std::span<std::byte> buffer) {
        if (buffer.empty()) return;
        const std::lock_guard hold(lock_);
        free_.push_back(buffer.data());  // can't allocate: the list has held all buffers before
    }
    [[nodiscard]] bool is_wanted() {
        const std::lock_guard hold(lock_);
        return is_wanted_;
    }
    [[nodiscard]] bool has_free() {
        const std::lock_guard hold(lock_);
        return !free_.empty();
    }

  private:
    std::mutex lock_;
    std::byte* all_ = nullptr;
    std::size_t length_ = 0;
    std::vector<std::byte*> free_;
    std::size_t bytes_ = 0;
    bool is_wanted_ = false;
};

}  // namespace oratorio
