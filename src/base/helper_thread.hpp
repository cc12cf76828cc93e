// SPDX-License-Identifier: BSD-3-Clause
// What every thread of ours does that runs beside the program's.
#pragma once

#include <csignal>

namespace oratorio {

/// While it lives this thread takes no signals, and a thread started meanwhile never will: a
/// handler of the program should find the program's threads.
class SignalsBlocked {
  public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    /// Takes away the signal that came with a failed system call of ours, so that the program
    /// doesn't get it. One that was waiting for the program before stays.
    void swallow(int number) const;

  private:
    sigset_t before_;
    sigset_t waiting_;
};

/// For this thread. Hosts that bind a rank to one core would have it fight with the rank's own.
void use_all_cores();

}  // namespace oratorio
