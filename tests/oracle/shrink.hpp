// SPDX-License-Identifier: BSD-3-Clause
// Shrink: the shortest program that fails as a given one does.
#pragma once

#include "oracle/execute.hpp"

namespace oratorio::oracle {

struct Shrunk {
    Program program;
    Verdict verdict;
    int runs = 0;
};

/// A program fails alike when its verdict is of the same kind. Each candidate is tried in several
/// interleavings.
Shrunk shrink(const Program& program, const Verdict& verdict, Stacks& stacks);

}  // namespace oratorio::oracle
