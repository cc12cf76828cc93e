// SPDX-License-Identifier: BSD-3-Clause
// Faulty storage: a program that links io_faults.cpp and exports its symbols intercepts the pread,
// pwrite, preadv and pwritev of every library of the process, and can make them fail. The uring
// store makes such calls only for requests that the kernel refuses, and through its duplicates.
#pragma once

#include <sys/types.h>

#include <cerrno>

namespace oratorio::test {

struct IoFault {
    enum class Kind {
        none,
        fails,        ///< the call fails with `system_errno` if it touches the range
        full,         ///< the call fails with ENOSPC if it touches the range
        cut_short,    ///< the call transfers half of the bytes requested, at least one
        interrupted,  ///< every other call ends with EINTR
        vanishes,     ///< writes report all bytes as written and store none
    };
    Kind kind = Kind::none;
    bool reads = false;
    bool writes = false;
    off_t first = 0;  ///< range of the file that triggers the fault: [first, end)
    off_t end = 0;
    int system_errno = EIO;
    long nth = 0;                ///< number, from 1, of the only call with the fault; 0: all calls
    const char* file = nullptr;  ///< end of the path of the faulty file; null: any file
};

/// Sets the fault of this process from now on.
void set_io_fault(const IoFault& fault);
/// Returns the number of calls that met the fault, and of bytes that vanished, since it was set.
long io_faults_met();
long long bytes_vanished();

}  // namespace oratorio::test
