// SPDX-License-Identifier: BSD-3-Clause
// Scarcity: memory that one rank's calls don't get, and threads that nobody gets. The linker sends
// the library's malloc and mmap here; the simulation's own are spared.
#pragma once

#include <cstddef>
#include <vector>

#include "base/extent.hpp"

namespace oratorio::oracle {

/// Of one program.
struct Scarcity {
    Rank rank = -1;         ///< whose calls; none
    long first = 0;         ///< which allocation in them fails, from 1; 0: none does
    bool for_good = false;  ///< and all after it
    bool maps = false;      ///< large memory, too: a call may fail for it
    int empty_step = -1;    ///< the rank's call in that step, or its begin: nobody has a reserve
    bool threads = true;    ///< they can be started
    Rank helperless = -1;   ///< that has no helper thread, though others have
};

/// While it lives, that is what the process has.
class Scarce {
  public:
    explicit Scarce(const Scarcity& scarcity);
    ~Scarce();
    Scarce(const Scarce&) = delete;
    Scarce& operator=(const Scarce&) = delete;
};

/// The fiber that runs is in a call of the rank that gets none, or isn't.
class Counted {
  public:
    explicit Counted(bool counted);
    ~Counted();
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

  private:
    bool before_;
};

/// The simulation's own needs, in the middle of such a call.
class Spared : public Counted {
  public:
    Spared() : Counted(false) {}
};

/// Too little is left in the reserve to begin a collective call with, and no more can be mapped.
class EmptyReserve {
  public:
    EmptyReserve();
    ~EmptyReserve();
    EmptyReserve(const EmptyReserve&) = delete;
    EmptyReserve& operator=(const EmptyReserve&) = delete;

  private:
    std::vector<void*> taken_;
};

}  // namespace oratorio::oracle
