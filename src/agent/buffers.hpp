// SPDX-License-Identifier: BSD-3-Clause
// The buffers of an agent: had when it starts, two for each thread, so that one request comes in
// while another is at the storage. For all its threads.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "base/extent.hpp"

namespace oratorio {

class AgentBuffers {
  public:
    /// False when there is no memory.
    [[nodiscard]] bool make(std::size_t count, Bytes bytes) {
        try {
            all_.assign(count, std::vector<std::byte>(static_cast<std::size_t>(bytes)));
            for (auto& one : all_) free_.push_back(one.data());
        } catch (const std::bad_alloc&) {
            return false;
        }
        bytes_ = static_cast<std::size_t>(bytes);
        return true;
    }
    /// Of each.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Empty when all are in use: one is wanted until somebody gets one.
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
        free_.push_back(buffer.data());  // has had room for all of them
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
    std::vector<std::vector<std::byte>> all_;
    std::vector<std::byte*> free_;
    std::size_t bytes_ = 0;
    bool is_wanted_ = false;
};

}  // namespace oratorio
