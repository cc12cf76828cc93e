// SPDX-License-Identifier: BSD-3-Clause
// Keeps signals away from helper threads, which are the library's own threads, and from system
// calls of the library; lets helper threads run on all cores.
#pragma once

#include <csignal>

namespace oratorio {

/// Blocks signals for this thread as long as the object lives, except those that report a fault of
/// the thread itself, such as SIGSEGV. A thread started in that time never receives the blocked
/// signals, so that the program's signal handlers run on the program's threads only.
class SignalsBlocked {
  public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    /// Discards the signal that a system call of the library raised when it failed with
    /// `system_errno`, so that the program doesn't receive it: SIGPIPE for EPIPE, SIGXFSZ for
    /// EFBIG. Such a signal that was pending before the object was made stays.
    void discard_signal_of(int system_errno) const;

  private:
    void discard(int number) const;

    sigset_t before_;
    sigset_t waiting_;
};

/// Lets the calling thread run on all cores. Where the host binds a rank to one core, the thread
/// would otherwise compete with the rank for that core.
void use_all_cores();

}  // namespace oratorio
