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

/// Calls `touch`. Returns nullptr if `touch` completed, else the address in `memory` at which a bus
/// error ended it. A bus error anywhere else goes to the previous handler. Any number of threads
/// may call this at once. System calls on `memory` fail with EFAULT instead. If `mend` succeeds,
/// `touch` continues.
[[nodiscard]] std::byte* catch_bus_error(std::span<std::byte> memory, const Touch& touch,
                                         const Mend& mend = {});

}  // namespace oratorio
