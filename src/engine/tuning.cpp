// SPDX-License-Identifier: BSD-3-Clause
#include "engine/tuning.hpp"

namespace oratorio {

Agreed<const LearnedTimes*> Tuning::learned() const {
    return Agreed<const LearnedTimes*>::vouch(measures() ? &learned_ : nullptr);
}

bool Tuning::wants_other(const Plan& plan) const {
    if (clock_ == nullptr || plan.trial == nullptr) return false;
    return learned_.wants_other(*plan.trial);
}

void Tuning::record(const Trial& trial, std::uint64_t nanoseconds) {
    constexpr double kNano = 1e-9;
    if (nanoseconds == 0) return;
    learned_.record(trial, kNano * static_cast<double>(nanoseconds));
}

}  // namespace oratorio
