// SPDX-License-Identifier: BSD-3-Clause
// The cost model: estimates the time of an access for each part, in nanoseconds from the first
// rank's start to the last one's end. Its constants are in costs.def
// (docs/internals/decisions/cost-model.md).
#pragma once

#include "plan/methods.hpp"
#include "plan/model.hpp"

namespace oratorio {

/// Returns true if data in interleaving parts should be moved in slices of every part at a time
/// instead of part by part.
[[nodiscard]] bool slices_pay(const PlanInputs& inputs);

/// The functions below estimate methods without exchange, by their storage part.
[[nodiscard]] double estimate_contiguous(const PlanInputs& inputs);
[[nodiscard]] double estimate_list(const PlanInputs& inputs);
[[nodiscard]] double estimate_sieve(const PlanInputs& inputs);
[[nodiscard]] double estimate_mapped(const PlanInputs& inputs);
[[nodiscard]] double estimate_shipped(const PlanInputs& inputs);
/// Returns the estimate for a storage part that only some ranks at a time may use.
[[nodiscard]] double estimate_turns(const StoragePart& storage, const PlanInputs& inputs);
/// Returns the additional time for announcing ranges to the storage before they are accessed.
[[nodiscard]] double estimate_fetching(const PlanInputs& inputs);
/// Returns the additional time for listing all pieces.
[[nodiscard]] double estimate_listing(const PlanInputs& inputs);
/// Returns the additional time for a global pass over the ranks' edges.
[[nodiscard]] double estimate_thinning(const PlanInputs& inputs);
/// The functions below estimate methods with an exchange, by their exchange part.
[[nodiscard]] double estimate_messages(const Method& method, const PlanInputs& inputs);
[[nodiscard]] double estimate_shared(const Method& method, const PlanInputs& inputs);
[[nodiscard]] double estimate_cross_memory(const Method& method, const PlanInputs& inputs);

/// Returns the closed form's terms (plan/model) for a method with messages, else empty terms.
[[nodiscard]] CostTerms estimate_terms(const Method& method, const PlanInputs& inputs);
/// Returns the number of reductions of a method with messages: four, one more if it asks for
/// locations on the device, and one fewer with a sparse graph.
[[nodiscard]] int reductions_by_messages(const Method& method);

}  // namespace oratorio
