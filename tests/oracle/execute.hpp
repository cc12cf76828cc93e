// SPDX-License-Identifier: BSD-3-Clause
// Execute: runs a program once in the simulation and judges the run by the rules.
#pragma once

#include <string>

#include "oracle/program.hpp"

namespace oratorio::oracle {

struct Verdict {
    /// Empty if everything was allowed; else begins with a word for the kind of fault.
    std::string wrong;
    long switches = 0;  ///< how often the running fiber changed
    int overslept = 0;  ///< sleeps at a doorbell that no rank rang
    int job_locks = 0;  ///< number of job locks that were granted
    [[nodiscard]] bool ok() const { return wrong.empty(); }
    /// Returns the first word of `wrong`: lost, stale, foreign, future, torn, count, size, error,
    /// ranks, records, deadlock, exception, ...
    [[nodiscard]] std::string kind() const { return wrong.substr(0, wrong.find(':')); }
};

Verdict execute(const Program& program, Stacks& stacks);

}  // namespace oratorio::oracle
