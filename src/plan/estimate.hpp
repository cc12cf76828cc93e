// SPDX-License-Identifier: BSD-3-Clause
// The cost model: what an access would take with a part, in nanoseconds from the first rank's start
// to the last one's end. Constants: costs.def (docs/decisions/0005-cost-model.md).
#pragma once

#include "plan/methods.hpp"
#include "plan/model.hpp"

namespace oratorio {

/// Whether data that is parts which interleave in memory had better be moved a slice of every part
/// at a time than part by part.
[[nodiscard]] bool slices_pay(const Situation& situation);

/// Methods without exchange, by their storage part.
[[nodiscard]] double estimate_contiguous(const Situation& situation);
[[nodiscard]] double estimate_list(const Situation& situation);
[[nodiscard]] double estimate_sieve(const Situation& situation);
[[nodiscard]] double estimate_mapped(const Situation& situation);
[[nodiscard]] double estimate_shipped(const Situation& situation);
/// With that storage, where only some ranks at once are let in.
[[nodiscard]] double estimate_turns(const StoragePart& storage, const Situation& situation);
/// What telling the storage of ranges adds.
[[nodiscard]] double estimate_fetching(const Situation& situation);
/// What listing all pieces adds.
[[nodiscard]] double estimate_listing(const Situation& situation);
/// What a global pass over the ranks' edges adds.
[[nodiscard]] double estimate_thinning(const Situation& situation);
/// Methods with one, by that.
[[nodiscard]] double estimate_messages(const Method& method, const Situation& situation);
[[nodiscard]] double estimate_shared(const Method& method, const Situation& situation);
[[nodiscard]] double estimate_cross_memory(const Method& method, const Situation& situation);

/// By the closed form (plan/model), of a method whose ranks send messages; else nothing.
[[nodiscard]] CostTerms estimate_terms(const Method& method, const Situation& situation);
/// Of such a method: at the begin and the end, for the round's failures, and for what it asks.
[[nodiscard]] int reductions_by_messages(const Method& method);

}  // namespace oratorio
