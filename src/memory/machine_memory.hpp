// SPDX-License-Identifier: BSD-3-Clause
// The memory of this machine: how large buffers may be, and the page size.
#pragma once

#include "base/extent.hpp"

namespace oratorio {

/// Returns the largest size that one buffer of a rank should have if `ranks` ranks share this
/// machine: a quarter of the smallest of the machine's memory and this process's limits, divided by
/// the number of ranks that may be aggregators.
[[nodiscard]] Bytes buffer_bytes_most(int ranks);

/// Returns the unit in which the system maps and protects memory: 4 KiB on x86-64, up to 64 KiB on
/// 64-bit ARM.
[[nodiscard]] Bytes page_bytes();

}  // namespace oratorio
