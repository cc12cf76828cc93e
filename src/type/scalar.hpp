// SPDX-License-Identifier: BSD-3-Clause
// Scalars: the numbers and characters that predefined datatypes consist of, and the form of each in
// external32 (MPI-4.1, 14.5.2): big-endian, IEEE floating point, sizes of table 14.2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/extent.hpp"

namespace oratorio {

/// A kind of scalar: its form in memory together with its form in external32.
enum class ScalarKind : std::uint8_t {
    none,            ///< no external32 form is known
    byte,            ///< copied unchanged: characters, bytes, bool, packed data
    word2,           ///< word of 2 bytes, big-endian in the file: integers, IEEE reals, logicals
    word4,           ///< the same with 4 bytes
    word8,           ///< the same with 8 bytes
    word16,          ///< the same with 16 bytes
    signed_long,     ///< 8 bytes in memory, 4 in the file
    unsigned_long,   ///< 8 bytes in memory, 4 in the file
    extended_real,   ///< x87 extended in 16 bytes of memory, IEEE binary128 in the file
    wide_character,  ///< 4 bytes in memory, a UTF-16 unit in the file
};

/// Return the size of one scalar in memory and in external32; 0 for `none`.
[[nodiscard]] Bytes memory_size(ScalarKind kind);
[[nodiscard]] Bytes external32_size(ScalarKind kind);

/// Convert `count` scalars. Neither side need be aligned. Return false if a value doesn't fit the
/// target, or if the kind is `none`; scalars before that value may have been converted. A real that
/// loses precision is rounded to nearest, ties to even. REQUIRES: the two sides don't overlap.
[[nodiscard]] bool to_external32(ScalarKind kind, const std::byte* memory, std::byte* file,
                                 std::int64_t count);
[[nodiscard]] bool from_external32(ScalarKind kind, const std::byte* file, std::byte* memory,
                                   std::int64_t count);
/// Returns an ErrorKind::conversion for scalars of this kind that couldn't be converted.
[[nodiscard]] Error misfit(ScalarKind kind);

}  // namespace oratorio
