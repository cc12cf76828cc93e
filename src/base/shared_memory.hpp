// SPDX-License-Identifier: BSD-3-Clause
// SharedMemory: memory that several processes of one node map. POSIX shared memory (/dev/shm).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"

namespace oratorio {

/// Owns a mapping; move-only. Bytes are zero at first.
class SharedMemory {
  public:
    SharedMemory() = default;
    /// A new object under a name nobody else has. All its pages are taken at once, so that a full
    /// /dev/shm is an error here (no_space) and not a SIGBUS later.
    static Result<SharedMemory> create(Bytes bytes);
    /// What another process created: that and nothing else of the same name and length.
    static Result<SharedMemory> attach(const std::string& name, Bytes bytes);
    SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    ~SharedMemory();

    /// The creator's: takes the name away; the memory stays with those who have attached.
    void unlink();
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::span<std::byte> span() const { return memory_; }

  private:
    Result<void> map(int descriptor, Bytes bytes);
    [[nodiscard]] char* mark() const;

    std::string name_;  ///< empty once it is gone, or when another process made it
    std::span<std::byte> memory_;
};

}  // namespace oratorio
