// SPDX-License-Identifier: BSD-3-Clause
// Copies that avoid a slow path of AMD processors since Zen 3. Their `rep movsb`, with which the
// kernel and the C library copy, takes several times as long where the destination lies 1 to 31
// bytes after the source, both taken modulo the page size. The case is common: malloc returns long
// blocks 16 bytes after the start of a page, and data in a file often begins at a page
// (docs/internals/decisions/stores.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/extent.hpp"

namespace oratorio {

/// Returns true if `to` lies 1 to 31 bytes after `from`, modulo the page size. Each may be an
/// address or a file offset.
[[nodiscard]] constexpr bool lies_close_behind(std::uint64_t to, std::uint64_t from) {
    return (to - from) % kPage - 1 < 31;
}

[[nodiscard]] inline std::uint64_t place_of(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

/// Returns true if `rep movsb` is slow on this processor where lies_close_behind() holds.
[[nodiscard]] bool is_slow_close_behind();

/// Copies like memcpy, in pieces so short that the C library does not use `rep movsb` for them.
void copy_by_steps(std::byte* to, const std::byte* from, std::size_t bytes);

/// Copies like memcpy. Uses copy_by_steps() where `rep movsb` would be slow.
void copy_long(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace oratorio
