// SPDX-License-Identifier: BSD-3-Clause
// forbid: makes system calls fail for one thread and the threads that it starts, as a sandbox does.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <initializer_list>
#include <thread>
#include <vector>

namespace oratorio::test {

/// Makes these calls of this thread fail with `error_number` from now on. Returns false if the
/// kernel has no system call filters (seccomp).
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

/// Runs `body` in a thread of its own; the body may call forbid() without affecting other threads.
template <class Body>
void in_sandbox(const Body& body) {
    std::thread(body).join();
}

}  // namespace oratorio::test
