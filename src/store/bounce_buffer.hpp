// SPDX-License-Identifier: BSD-3-Clause
// BounceBuffer: moves bytes between page cache and user memory through a small buffer, where the
// kernel's own copy is slow (base/byte_copy). Two fast copies take half as long as the slow one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/direction.hpp"
#include "base/extent.hpp"
#include "base/system_call.hpp"

namespace oratorio {

class BounceBuffer {
  public:
    static constexpr std::size_t kBytes = 128 << 10;  ///< fits into a core's private cache
    /// Below this size the second copy costs as much as it saves.
    static constexpr std::size_t kLeast = 4096;

    /// Returns true if a transfer between this memory and that file offset should use the buffer.
    [[nodiscard]] static bool is_better(Direction direction, std::span<const std::byte> memory,
                                        Offset offset);
    /// Allocates the buffer. Returns false if there is no memory for it.
    [[nodiscard]] bool prepare();
    /// Does what pread or pwrite does, including EFAULT if the beginning of the memory is
    /// inaccessible. REQUIRES: prepare() returned true.
    [[nodiscard]] Answer move(Direction direction, std::span<std::byte> memory, Offset offset,
                              int file);

  private:
    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace oratorio
