// SPDX-License-Identifier: BSD-3-Clause
// Catches a bus error (SIGBUS) in a range of memory. The kernel sends it if a page of a mapped file
// isn't available. The handler belongs to the whole process: it is installed only while a call of
// catch_bus_error runs in some thread, and passes on all other bus errors.
#pragma once

#include <cstddef>
#include <span>

#include "store/mapped.hpp"

namespace oratorio {

/// A function that tries to make the page at an address readable, and returns true if it succeeds.
/// It is called in a signal handler, so it may make system calls only.
struct Mend {
    bool (*call)(void* argument, std::byte* at) = nullptr;
    void* argument = nullptr;
};

/// Calls `touch`. If an access to `memory` raises a bus error, calls `mend`; unless that succeeds,
/// abandons `touch` and returns the address of the access. Returns nullptr if `touch` completed.
/// A bus error anywhere else goes to the previous handler. A system call on an unavailable page
/// raises no bus error, but fails with EFAULT. Any number of threads may call this at once.
[[nodiscard]] std::byte* catch_bus_error(std::span<std::byte> memory, const Touch& touch,
                                         const Mend& mend = {});

}  // namespace oratorio
