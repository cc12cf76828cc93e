// SPDX-License-Identifier: BSD-3-Clause
// What tests do with a run that they step themselves.
#pragma once

#include <functional>

#include "run/run.hpp"

namespace oratorio::test {

/// Told every plan that is made.
struct PlanWitness final : Witness {
    std::function<void(const Plan&)> tell;
    explicit PlanWitness(std::function<void(const Plan&)> teller) : tell(std::move(teller)) {}
    void planned(const Plan& plan) override { tell(plan); }
    void remark(const std::string&) override {}
};

/// As whoever runs it would after a step that didn't end it.
inline void rest(const Run& run, Transport& transport) {
    if (const auto what = run.waits_for()) transport.idle(*what);
}

}  // namespace oratorio::test
