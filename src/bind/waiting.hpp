// SPDX-License-Identifier: BSD-3-Clause
// Waiting: what a rank does while a call of the program waits for other ranks. Other files move on,
// and a rank that waits for long reports what it waits for.
#pragma once

#include <string>

namespace oratorio::bind {

/// Records, while the object lives, that this thread is in a routine called by the program. If
/// routines of ours call each other, the outer one counts.
class InRoutine {
  public:
    explicit InRoutine(const char* name);
    ~InRoutine();
    InRoutine(const InRoutine&) = delete;
    InRoutine& operator=(const InRoutine&) = delete;

  private:
    const char* outer_;
};

/// Sets the file that the routine works on, for a notice. REQUIRES: `path` lives as long as the
/// routine runs.
void routine_uses(const std::string& path, int rank);

/// Makes operations of other files progress. Transports call it repeatedly on a rank that waits.
/// Returns true if an operation moved.
bool while_waiting();

}  // namespace oratorio::bind
