// SPDX-License-Identifier: BSD-3-Clause
// Waiting: what a rank does while a call of the program waits for other ranks. Other threads may
// use the file, operations of other files progress, and a rank that waits for a long time reports
// the call that waits.
#pragma once

#include <string>

#include "bind/open_file.hpp"

namespace oratorio::bind {

/// Records, while the object lives, that this thread is in a routine called by the program. If one
/// of Oratorio's routines calls another, the outer one is recorded.
class InRoutine {
  public:
    explicit InRoutine(const char* name);
    ~InRoutine();
    InRoutine(const InRoutine&) = delete;
    InRoutine& operator=(const InRoutine&) = delete;

  private:
    const char* outer_;
};

/// Sets the file that the current routine works on, and this rank's number in it, for the message
/// that reports a long wait. REQUIRES: `path` lives as long as the routine runs.
void routine_uses(const std::string& path, int rank);

/// While the object lives, lets other threads have a file's mutex whenever this thread waits for
/// other ranks. Null: does nothing. REQUIRES: this thread holds the mutex.
class LettingIn {
  public:
    explicit LettingIn(FileMutex* mutex);
    ~LettingIn();
    LettingIn(const LettingIn&) = delete;
    LettingIn& operator=(const LettingIn&) = delete;

  private:
    FileMutex* outer_;
};

/// Lets other threads use the file, steps operations of other files, and reports a long wait once.
/// Transports call this function repeatedly on a rank that waits. Returns true if an operation
/// progressed.
bool while_waiting();

}  // namespace oratorio::bind
