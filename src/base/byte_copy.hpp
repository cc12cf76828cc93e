// SPDX-License-Identifier: BSD-3-Clause
// Copies past a weakness of some processors. Those of AMD since Zen 3 take four times as long and
// more for `rep movsb`, by which the kernel and the C library copy, where the bytes go to a place
// that within a page lies 1 to 31 bytes behind where they come from. malloc gives long blocks 16
// bytes behind a page's begin, and much of what is in a file begins with a page
// (docs/decisions/0044).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/extent.hpp"

namespace oratorio {

/// Whether within a page `to` lies 1 to 31 bytes behind `from`. Either may be a file offset.
[[nodiscard]] constexpr bool lies_close_behind(std::uint64_t to, std::uint64_t from) {
    return (to - from) % kPage - 1 < 31;
}

[[nodiscard]] inline std::uint64_t place_of(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

/// Whether this processor is slow there.
[[nodiscard]] bool is_slow_close_behind();

/// As memcpy, by so few bytes at a time that the C library moves them by other instructions.
void copy_by_steps(std::byte* to, const std::byte* from, std::size_t bytes);

/// As memcpy.
void copy_long(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace oratorio
