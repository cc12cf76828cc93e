// SPDX-License-Identifier: BSD-3-Clause
// FlatTerms: the configuration of a plan in one struct, so that a test can write options and facts
// side by side.
#pragma once

#include <memory>

#include "comm/agreed.hpp"
#include "plan/options.hpp"

namespace oratorio::test {

/// Returns facts of data-shipping agents on ranks 0 and 2, with small blocks and small requests.
inline AgentFacts few_agents(Bytes block = 4096) {
    return {.ranks = {0, 2}, .threads = 2, .block = block, .message = 4096, .refused = false};
}

struct FlatTerms : PlanOptions, PlanFacts {};

inline std::shared_ptr<const Agreed<PlanConfig>> terms_of(const FlatTerms& flat) {
    return std::make_shared<const Agreed<PlanConfig>>(
        Agreed<PlanConfig>::vouch(PlanConfig{flat, flat}));
}

}  // namespace oratorio::test
