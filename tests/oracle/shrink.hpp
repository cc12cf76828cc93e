// SPDX-License-Identifier: BSD-3-Clause
// Shrink: shortens a program as long as it still fails in the same way.
#pragma once

#include "oracle/execute.hpp"

namespace oratorio::oracle {

struct Shrunk {
    Program program;
    Verdict verdict;
    int runs = 0;
};

/// Shrinks a program. Two programs fail alike if their verdicts are of the same kind. Each
/// candidate is tried in several interleavings.
Shrunk shrink(const Program& program, const Verdict& verdict, Stacks& stacks);

}  // namespace oratorio::oracle
