// SPDX-License-Identifier: BSD-3-Clause
// System calls that fail for one thread, and those that it starts, as in a sandbox.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <initializer_list>
#include <thread>
#include <vector>

namespace oratorio::test {

/// From now on these calls of this thread fail with the error number. False where the kernel has no
/// filters of system calls.
inline bool forbid(std::initializer_list<int> calls, int error_number) {
    std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const int call : calls) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
        filter.push_back(
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error_number)));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Runs `body` in a thread of its own, whose system calls it may forbid.
template <class Body>
void in_sandbox(const Body& body) {
    std::thread(body).join();
}

}  // namespace oratorio::test
