// SPDX-License-Identifier: BSD-3-Clause
// SharedMemory: POSIX shared memory (/dev/shm), mapped by several processes of one node.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"

namespace oratorio {

/// Owns a mapping; move-only. The bytes are zero at first.
class SharedMemory {
  public:
    SharedMemory() = default;
    /// Creates an object under a unique name. Allocates all its pages at once, so that a full
    /// /dev/shm is an error here (no_space) and not a SIGBUS later.
    static Result<SharedMemory> create(Bytes bytes);
    /// Attaches to the object `name`, which another process has created. Fails if the name refers
    /// to another object in this process's /dev/shm, even to one of the same length.
    static Result<SharedMemory> attach(const std::string& name, Bytes bytes);
    SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    ~SharedMemory();

    /// Removes the name, if this process created the object. Processes that have attached keep the
    /// memory.
    void unlink();
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::span<std::byte> span() const { return memory_; }

  private:
    Result<void> map(int descriptor, Bytes bytes);
    [[nodiscard]] char* mark() const;

    std::string name_;  ///< empty once it is removed, or if another process created the object
    std::span<std::byte> memory_;
};

}  // namespace oratorio
