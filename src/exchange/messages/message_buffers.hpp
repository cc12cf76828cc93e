// SPDX-License-Identifier: BSD-3-Clause
// Message buffers: equal parts of one reserved block, handed out and returned. They bound the
// memory that messages occupy.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace oratorio {

class MessageBuffers {
  public:
    /// Returns the memory that a plan with these limits needs: for the requests and replies that a
    /// rank sends and receives, as participant and as aggregator, and one more receive per round
    /// that is open or expected.
    [[nodiscard]] static Bytes bytes_needed(Bytes message_bytes, int messages_in_flight) {
        return message_bytes * (4 * messages_in_flight + kSlotsMost);
    }

    MessageBuffers(std::span<std::byte> memory, Bytes each) {
        const auto size = static_cast<std::size_t>(each);
        for (std::size_t at = 0; at + size <= memory.size(); at += size)
            free_.push_back(memory.subspan(at, size));
        // Hand out from the front of the block: few buffers in use touch few pages.
        std::vector<std::span<std::byte>>(free_.rbegin(), free_.rend()).swap(free_);
    }

    [[nodiscard]] std::size_t free() const { return free_.size(); }
    /// Returns a buffer, or an empty span when none is left.
    [[nodiscard]] std::span<std::byte> take() {
        if (free_.empty()) return {};
        const auto buffer = free_.back();
        free_.pop_back();
        return buffer;
    }
    void give_back(std::span<std::byte> buffer) { free_.push_back(buffer); }

  private:
    std::vector<std::span<std::byte>> free_;
};

}  // namespace oratorio
