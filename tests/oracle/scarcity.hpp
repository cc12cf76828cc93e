// SPDX-License-Identifier: BSD-3-Clause
// Scarcity: memory allocations that fail in the calls of one rank, and threads that cannot be
// started. The linker sends the library's malloc and mmap here; the simulation's own calls never
// fail.
#pragma once

#include <cstddef>
#include <vector>

#include "base/extent.hpp"

namespace oratorio::oracle {

/// The scarcity of one program.
struct Scarcity {
    Rank rank = -1;         ///< the rank with failing allocations; -1: none
    long first = 0;         ///< the allocation in its calls that fails, from 1; 0: none does
    bool for_good = false;  ///< all later ones fail, too
    bool maps = false;      ///< large memory fails, too: a call may report that as an error
    /// In the rank's call of that step, or its begin, the process has no reserve.
    int empty_step = -1;
    bool threads = true;   ///< threads can be started
    Rank helperless = -1;  ///< the rank that has no helper thread, though others have one
};

/// Sets the scarcity of the process while it lives.
class Scarce {
  public:
    explicit Scarce(const Scarcity& scarcity);
    ~Scarce();
    Scarce(const Scarce&) = delete;
    Scarce& operator=(const Scarce&) = delete;
};

/// Says whether the running fiber is in a call of the rank with failing allocations.
class Counted {
  public:
    explicit Counted(bool counted);
    ~Counted();
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

  private:
    bool before_;
};

/// Exempts the simulation's own allocations in the middle of such a call.
class Spared : public Counted {
  public:
    Spared() : Counted(false) {}
};

/// Empties the reserve while it lives: too little is left to begin a collective call, and no more
/// can be mapped.
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
