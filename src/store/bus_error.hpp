// SPDX-License-Identifier: BSD-3-Clause
// A bus error (SIGBUS) inside a range of memory, caught. The kernel sends it when a page of a
// mapped file can't be had. The handler is a thing of the whole process: it is in place only while
// a call of catch_bus_error runs in some thread, and passes on whatever isn't ours.
#pragma once

#include <cstddef>
#include <span>

#include "store/mapped.hpp"

namespace oratorio {

/// Tries to make the page of an address readable; true when it has. Called by a signal handler: it
/// may make system calls and nothing else.
struct Mend {
    bool (*call)(void* argument, std::byte* at) = nullptr;
    void* argument = nullptr;
};

/// Calls `touch`. Gives nullptr when it came to its end, else the address in `memory` at which a
/// bus error ended it. A bus error anywhere else goes to the handler that was there before. Any
/// number of threads may be in here at once; system calls that are given `memory` fail with EFAULT
/// instead. Where `mend` could help, `touch` goes on as if nothing had been.
[[nodiscard]] std::byte* catch_bus_error(std::span<std::byte> memory, const Touch& touch,
                                         const Mend& mend = {});

}  // namespace oratorio
