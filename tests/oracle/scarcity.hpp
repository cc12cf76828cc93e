// SPDX-License-Identifier: BSD-3-Clause
// Scarcity: makes memory allocations fail in the calls of one rank, and the start of threads in the
// whole process. The linker redirects malloc and mmap to these replacements; the simulation's own
// calls never fail.
#pragma once

#include <cstddef>
#include <vector>

#include "base/extent.hpp"

namespace oratorio::oracle {

/// The scarcity of one program.
struct Scarcity {
    Rank rank = -1;  ///< the rank with failing allocations; -1: none
    /// The allocation that fails, as a number (from 1) among those of the rank's calls; 0: none.
    long first = 0;
    bool for_good = false;  ///< all later allocations fail, too
    /// Mappings of large memory fail, too, which a call may report as an error.
    bool maps = false;
    /// The step in which the rank's call finds the library's reserve of memory empty; -1: none.
    int empty_step = -1;
    bool threads = true;  ///< false: no thread can be started
    /// This rank has no helper thread, though others have one; -1: none.
    Rank helperless = -1;
};

/// Applies a scarcity to the process for as long as this object lives.
class Scarce {
  public:
    explicit Scarce(const Scarcity& scarcity);
    ~Scarce();
    Scarce(const Scarce&) = delete;
    Scarce& operator=(const Scarce&) = delete;
};

/// Sets, while the object lives, whether the running fiber's allocations count as those of a
/// library call by the rank with failing allocations.
class Counted {
  public:
    explicit Counted(bool counted);
    ~Counted();
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

  private:
    bool before_;
};

/// Exempts the simulation's own allocations inside a library call.
class Spared : public Counted {
  public:
    Spared() : Counted(false) {}
};

/// Empties the library's reserve of memory while the object lives: too little is left to begin a
/// collective call, and no more can be mapped.
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
