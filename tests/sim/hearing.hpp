// SPDX-License-Identifier: BSD-3-Clause
// Which ranks must learn of a failure: all ranks, except in a sparse graph and in reads without
// aggregators.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/methods.hpp"
#include "sim/case.hpp"

namespace oratorio::test {

/// Returns true if all ranks must learn of a failure before they return. If false, only the ranks
/// that have data with the aggregator that failed must, or, in a read without aggregators, only the
/// rank that failed.
inline bool everybody_hears(const FlatTerms& options, Direction direction) {
    const bool combines = options.method != nullptr && options.method->combined != nullptr;
    const Method* const method = combines ? options.method->combined : options.method;
    // True if each rank may make its own storage calls: `auto` may choose such a method, and one
    // may replace a method that needs shared memory.
    const bool own =
        method == nullptr || (!method->exchange_part().sends_messages &&
                              !method->storage_part().shipped && !method->schedule.in_turns);
    if (direction == Direction::read && own) return false;
    if (!asks_for_edges(options)) return true;
    return method != nullptr &&
           (!method->exchange_part().sends_messages || method->layers_part().local_aggregators);
}

/// Returns small_options(), with a sparse graph requested for every third seed.
inline FlatTerms options_for(const std::string& method, std::uint64_t seed) {
    FlatTerms options = small_options(method, seed);
    options.sparse = seed % 3 == 2;
    return options;
}

/// Expects that some rank reports the failure, and that all others report it too. Where
/// everybody_hears() is false, ranks may report success instead, in a write only if they moved all
/// of their data.
inline void expect_heard(const Case& made, const FlatTerms& options, Direction direction,
                         const std::vector<Outcome>& outcomes, ErrorKind kind) {
    bool anybody = false;
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
        const ErrorKind is = outcomes[rank].error.kind;
        anybody = anybody || is == kind;
        if (is == kind) continue;
        ASSERT_FALSE(everybody_hears(options, direction)) << "rank " << rank;
        ASSERT_EQ(is, ErrorKind::none) << "rank " << rank;
        if (direction == Direction::read) continue;  // the file may end earlier
        ASSERT_EQ(outcomes[rank].bytes, std::ssize(made.parts[rank].file_bytes)) << "rank " << rank;
    }
    ASSERT_TRUE(anybody);
}

/// Returns the failure that any of the ranks reports, or none.
inline ErrorKind failure_of(const std::vector<Outcome>& outcomes) {
    ErrorKind kind = ErrorKind::none;
    for (const Outcome& outcome : outcomes) kind = std::max(kind, outcome.error.kind);
    return kind;
}

}  // namespace oratorio::test
