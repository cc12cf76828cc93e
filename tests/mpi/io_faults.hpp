// SPDX-License-Identifier: BSD-3-Clause
// Faulty storage: a program that has io_faults.cpp in it and exports its symbols sees the pread,
// pwrite, preadv and pwritev of every library of the process, and can make them fail. The uring
// store makes none of these calls.
#pragma once

#include <sys/types.h>

#include <cerrno>

namespace oratorio::test {

struct IoFault {
    enum class Kind {
        none,
        fails,        ///< with `system_errno`, when the range is touched
        full,         ///< the same with ENOSPC
        cut_short,    ///< half of what was asked for, at least a byte; then goes on as asked
        interrupted,  ///< every other call ends with EINTR
        vanishes,     ///< writes take all bytes and store none
    };
    Kind kind = Kind::none;
    bool reads = false;
    bool writes = false;
    off_t first = 0;  ///< bytes of the file that bring it about: [first, end)
    off_t end = 0;
    int system_errno = EIO;
    long nth = 0;                ///< only this call of those, from 1; 0: each of them
    const char* file = nullptr;  ///< how the file's path ends; null: any file
};

/// From now on in this process.
void set_io_fault(const IoFault& fault);
/// Calls that went wrong since it was set, and the bytes that vanished.
long io_faults_met();
long long bytes_vanished();

}  // namespace oratorio::test
