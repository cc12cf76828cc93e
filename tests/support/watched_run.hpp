// SPDX-License-Identifier: BSD-3-Clause
// Helpers for tests that call Run::step() themselves.
#pragma once

#include <functional>

#include "engine/run.hpp"

namespace oratorio::test {

/// Calls `tell` with every plan that is made.
struct PlanRecorder final : PlanObserver {
    std::function<void(const Plan&)> tell;
    explicit PlanRecorder(std::function<void(const Plan&)> teller) : tell(std::move(teller)) {}
    void planned(const Plan& plan) override { tell(plan); }
};

/// Idles as the caller of a run does after a step that did not end the run.
inline void wait_hint(const Run& run, Transport& transport) {
    if (const auto what = run.waits_for()) transport.idle(*what);
}

}  // namespace oratorio::test
