// SPDX-License-Identifier: BSD-3-Clause
#include "base/helper_thread.hpp"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <initializer_list>

namespace oratorio {

SignalsBlocked::SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int number : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        sigdelset(&all, number);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    ::sigpending(&waiting_);
}

SignalsBlocked::~SignalsBlocked() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalsBlocked::discard_signal_of(int system_errno) const {
    if (system_errno == EPIPE) discard(SIGPIPE);
    if (system_errno == EFBIG) discard(SIGXFSZ);
}

void SignalsBlocked::discard(int number) const {
    if (sigismember(&waiting_, number) == 1) return;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    const timespec at_once{};
    ::sigtimedwait(&one, nullptr, &at_once);
}

void use_all_cores() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
    ::pthread_setaffinity_np(::pthread_self(), sizeof all, &all);
}

}  // namespace oratorio
