// SPDX-License-Identifier: BSD-3-Clause
// Conversion: how the data of one access looks in the file (MPI-4.1, 14.5). Native data needs none.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "base/extent.hpp"

namespace oratorio {

/// One access's data, all of it: made for a user's buffer type and count.
class Conversion {
  public:
    virtual ~Conversion() = default;
    Conversion() = default;
    Conversion(const Conversion&) = delete;
    Conversion& operator=(const Conversion&) = delete;

    /// Bytes that the data takes in the file.
    [[nodiscard]] virtual Bytes file_bytes() const = 0;
    /// Bytes of memory data that `file_bytes` from the begin make; whole elements only.
    [[nodiscard]] virtual Bytes memory_bytes(Bytes file_bytes) const = 0;
    /// User's buffer -> contiguous file data (file_bytes() of it). ErrorKind::conversion.
    virtual Error to_file(const std::byte* user, std::span<std::byte> file) = 0;
    /// Contiguous file data, maybe only a first part of it -> user's buffer. What the part doesn't
    /// reach is left alone.
    virtual Error to_memory(std::span<const std::byte> file, std::byte* user) = 0;
};

}  // namespace oratorio
