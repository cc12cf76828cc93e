// SPDX-License-Identifier: BSD-3-Clause
// Conversion: converts the data of one access to and from its form in the file (MPI-4.1, 14.5).
// Native data needs no conversion, except in memory of a device (device/stage_whole).
#pragma once

#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "base/extent.hpp"

namespace oratorio {

/// The conversion of all data of one access, made for a user's buffer type and count.
class Conversion {
  public:
    virtual ~Conversion() = default;
    Conversion() = default;
    Conversion(const Conversion&) = delete;
    Conversion& operator=(const Conversion&) = delete;

    /// Returns the number of bytes that the data takes in the file.
    [[nodiscard]] virtual Bytes file_bytes() const = 0;
    /// Returns the range of data positions in memory of the elements that lie completely inside
    /// `file_part`, a range of data positions in the file.
    [[nodiscard]] virtual Extent memory_part(Extent file_part) const = 0;
    /// Converts the user's buffer to contiguous file data, file_bytes() long. Fails with
    /// ErrorKind::conversion if a value doesn't fit its form in the file.
    virtual Error to_file(const std::byte* user, std::span<std::byte> file) = 0;
    /// Converts `file`, a part of the file's data that begins at data position `from`, into the
    /// user's buffer. Skips elements that are not completely inside the part. Fails with
    /// ErrorKind::conversion if a value doesn't fit its form in memory.
    virtual Error to_memory(std::span<const std::byte> file, Bytes from, std::byte* user) = 0;
};

}  // namespace oratorio
