// SPDX-License-Identifier: BSD-3-Clause
/* All tables of rules, in the order in which they are listed and run. */
#pragma once

#include "conformance.h"

extern const RuleTable kOpenRules, kSizeRules, kViewRules, kAccessRules, kPositionRules,
    kSharedRules, kSplitRules, kNonblockingRules, kStatusRules, kInteroperabilityRules,
    kConversionRules, kDatarepRules, kConsistencyRules, kErrorRules, kHandleRules, kSelfTestRules;

static const RuleTable* const kRuleTables[] = {
    &kOpenRules,       &kSizeRules,    &kViewRules,        &kAccessRules, &kPositionRules,
    &kSharedRules,     &kSplitRules,   &kNonblockingRules, &kStatusRules, &kInteroperabilityRules,
    &kConversionRules, &kDatarepRules, &kConsistencyRules, &kErrorRules,  &kHandleRules,
    &kSelfTestRules};
enum { kTables = (int)(sizeof kRuleTables / sizeof kRuleTables[0]) };
