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
    /// Where the elements that lie wholly in a part of the file's data lie in the memory's data.
    /// Both are positions in data order.
    [[nodiscard]] virtual Extent memory_part(Extent file_part) const = 0;
    /// User's buffer -> contiguous file data (file_bytes() of it). ErrorKind::conversion.
    virtual Error to_file(const std::byte* user, std::span<std::byte> file) = 0;
    /// Converts a part of the file's data, which begins at position `from` of it, into the user's
    /// buffer: the elements that lie wholly in it. All others are left alone.
    virtual Error to_memory(std::span<const std::byte> file, Bytes from, std::byte* user) = 0;
};

}  // namespace oratorio
