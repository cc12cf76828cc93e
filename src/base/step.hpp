// SPDX-License-Identifier: BSD-3-Clause
// Step: the outcome of one call of a state machine's step function. No step waits for another rank.
#pragma once

#include <algorithm>
#include <initializer_list>

namespace oratorio {

enum class Step {
    idle,        ///< nothing could be done; the caller may wait, or do something else
    progressed,  ///< something was done, so another step may be possible at once
    done,        ///< the state machine is finished and takes no more steps
};

[[nodiscard]] constexpr Step progressed_if(bool progressed) {
    return progressed ? Step::progressed : Step::idle;
}
[[nodiscard]] constexpr Step done_if(bool done) {
    return done ? Step::done : Step::idle;
}
/// Returns true if one of the outcomes is `progressed`; `done` doesn't count.
[[nodiscard]] constexpr bool any_progressed(std::initializer_list<Step> steps) {
    return std::find(steps.begin(), steps.end(), Step::progressed) != steps.end();
}

}  // namespace oratorio
