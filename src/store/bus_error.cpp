// SPDX-License-Identifier: BSD-3-Clause
#include "store/bus_error.hpp"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <mutex>

namespace oratorio {
namespace {

// One call of catch_bus_error; lives on its thread's stack.
struct Guard {
    std::byte* begin;
    std::byte* end;
    Guard* outer;
    Mend mend;
    std::byte* volatile fault = nullptr;
    sigjmp_buf back = {};
};

// These are globals, because a signal handler gets no user argument. The thread-local one has the
// model initial-exec, because its first use in a thread may be in the handler, where nothing may be
// allocated.
[[gnu::tls_model("initial-exec")]] thread_local Guard* current_guard = nullptr;
std::mutex handler_lock;
int handler_users = 0;               // calls under way in all threads
struct sigaction handler_before {};  // written only while our handler isn't installed

// Acts as the previous disposition would: default, ignore, or a handler.
void pass_on(int number, siginfo_t* info, void* context) {
    const bool forced = info->si_code > 0;  // sent by the kernel: the access will be retried
    if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
        handler_before.sa_sigaction(number, info, context);
    } else if (handler_before.sa_handler == SIG_DFL ||
               (handler_before.sa_handler == SIG_IGN && forced)) {
        struct sigaction standard {};
        standard.sa_handler = SIG_DFL;
        ::sigaction(number, &standard, nullptr);
        if (!forced) ::raise(number);
    } else if (handler_before.sa_handler != SIG_IGN) {
        handler_before.sa_handler(number);
    }
}

void on_bus_error(int number, siginfo_t* info, void* context) {
    Guard* guard = current_guard;
    auto* at = static_cast<std::byte*>(info->si_addr);
    if (info->si_code > 0 && guard != nullptr && at >= guard->begin && at < guard->end) {
        const int before = errno;
        if (guard->mend.call != nullptr && guard->mend.call(guard->mend.argument, at)) {
            errno = before;
            return;
        }
        guard->fault = at;
        siglongjmp(guard->back, 1);
    }
    pass_on(number, info, context);
}

void install_handler() {
    const std::lock_guard hold(handler_lock);
    if (handler_users++ > 0) return;
    struct sigaction ours {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGBUS, nullptr, &handler_before);
    ::sigaction(SIGBUS, &ours, nullptr);
}

void remove_handler() {
    const std::lock_guard hold(handler_lock);
    if (--handler_users > 0) return;
    struct sigaction now {};
    ::sigaction(SIGBUS, nullptr, &now);
    // A handler that the program has installed in place of ours stays.
    const bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error;
    if (ours) ::sigaction(SIGBUS, &handler_before, nullptr);
}

/// Unblocks SIGBUS in this thread while this object lives, because the kernel kills a process that
/// blocks the SIGBUS of its own access.
class BusErrorUnblocked {
  public:
    BusErrorUnblocked() {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGBUS);
        ::pthread_sigmask(SIG_UNBLOCK, &one, &before_);
    }
    ~BusErrorUnblocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BusErrorUnblocked(const BusErrorUnblocked&) = delete;
    BusErrorUnblocked& operator=(const BusErrorUnblocked&) = delete;

  private:
    sigset_t before_;
};

}  // namespace

std::byte* catch_bus_error(std::span<std::byte> memory, const Touch& touch, const Mend& mend) {
    Guard guard{memory.data(), memory.data() + memory.size(), current_guard, mend};
    install_handler();
    const BusErrorUnblocked unblocked;  // after the handler is installed: a signal may be pending
    if (sigsetjmp(guard.back, 1) == 0) {
        current_guard = &guard;
        touch.call(touch.argument);
    }
    current_guard = guard.outer;
    remove_handler();
    return guard.fault;
}

}  // namespace oratorio
