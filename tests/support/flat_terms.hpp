// SPDX-License-Identifier: BSD-3-Clause
// What plans are made by, as a test writes it down: options and facts side by side.
#pragma once

#include <memory>

#include "base/agreed.hpp"
#include "plan/options.hpp"

namespace oratorio::test {

/// Agents of some ranks, whose blocks and requests are small.
inline AgentFacts few_agents(Bytes block = 4096) {
    return {.ranks = {0, 2}, .threads = 2, .block = block, .message = 4096, .refused = false};
}

struct FlatTerms : PlanOptions, PlanFacts {};

inline std::shared_ptr<const Agreed<Terms>> terms_of(const FlatTerms& flat) {
    return std::make_shared<const Agreed<Terms>>(Agreed<Terms>::vouch(Terms{flat, flat}));
}

}  // namespace oratorio::test
