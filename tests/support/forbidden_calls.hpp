// SPDX-License-Identifier: BSD-3-Clause
// forbid: makes system calls fail for one thread and the threads that it starts, as a sandbox does.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <thread>
#include <vector>

namespace oratorio::test {

/// A condition on an argument of a call: the argument equals `value` (BPF_JEQ), or has one of its
/// bits (BPF_JSET).
struct ArgumentTest {
    unsigned argument = 0;  ///< index of the argument, from 0
    unsigned short compare = BPF_JEQ;
    unsigned value = 0;
};

/// Makes these calls of this thread fail with `error_number` from now on; with `only`, those whose
/// argument passes that test. Returns false if the kernel has no system call filters (seccomp).
inline bool forbid(std::initializer_list<int> calls, int error_number,
                   const std::optional<ArgumentTest>& only = {}) {
    const sock_filter load_call = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    std::vector<sock_filter> filter{load_call};
    for (const int call : calls) {
        const auto number = static_cast<unsigned>(call);
        const unsigned char otherwise = only ? 4 : 1;
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, otherwise));
        if (only) {
            const auto place = static_cast<unsigned>(offsetof(seccomp_data, args) +
                                                     only->argument * sizeof(std::uint64_t));
            const auto compare = static_cast<unsigned short>(BPF_JMP | only->compare | BPF_K);
            filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place));
            filter.push_back(BPF_JUMP(compare, only->value, 0, 1));
        }
        filter.push_back(
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error_number)));
        if (only) filter.push_back(load_call);
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
