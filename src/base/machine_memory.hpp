// SPDX-License-Identifier: BSD-3-Clause
// How much memory there is for buffers, and in which pages.
#pragma once

#include "base/extent.hpp"

namespace oratorio {

/// The most that one buffer of a rank should be, where `ranks` share this machine: a quarter of its
/// memory, or of what the limits of this process allow, among as many of them as may aggregate.
[[nodiscard]] Bytes buffer_bytes_most(int ranks);

/// What the system maps and protects at once: 4 KiB on x86-64; on 64-bit ARM up to 64 KiB.
[[nodiscard]] Bytes page_bytes();

}  // namespace oratorio
