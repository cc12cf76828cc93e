// SPDX-License-Identifier: BSD-3-Clause
// Stage: a page cache's bytes by way of a small buffer, where the kernel's own copy to or from the
// user's memory is slow (base/byte_copy). Two copies that aren't take half as long.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/direction.hpp"
#include "base/extent.hpp"
#include "base/system_call.hpp"

namespace oratorio {

class Stage {
  public:
    static constexpr std::size_t kBytes = 128 << 10;  ///< stays in a core's own cache
    /// Below this a second copy's cost is as large as what it saves.
    static constexpr std::size_t kLeast = 4096;

    /// Whether bytes between this memory and that place of a file had better go by a stage.
    [[nodiscard]] static bool is_better(Direction direction, std::span<const std::byte> memory,
                                        Offset offset);
    /// False: there is no memory for it.
    [[nodiscard]] bool prepare();
    /// As pread and pwrite, EFAULT too where the memory begins with what can't be touched; comes
    /// after prepare().
    [[nodiscard]] Answer move(Direction direction, std::span<std::byte> memory, Offset offset,
                              int file);

  private:
    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace oratorio
