// SPDX-License-Identifier: BSD-3-Clause
// Facts about workloads of papers and of users that can be counted. A fact is a number, together
// with the value that it is compared with, if any, such as one that a paper states.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/extent.hpp"

namespace oratorio::count {

enum class Relation { none, equal, at_most };

struct Fact {
    std::string what;
    std::int64_t counted = 0;
    Relation relation = Relation::none;
    std::int64_t claimed = 0;  ///< unused if relation is none
    std::string whose = {};    ///< source of the claimed value

    [[nodiscard]] bool holds() const {
        return relation == Relation::none ||
               (relation == Relation::equal ? counted == claimed : counted <= claimed);
    }
};
using Facts = std::vector<Fact>;

struct Topic {
    const char* name;
    const char* paper;
    const char* what;
    /// Counts for `ranks` ranks, or for the topic's own numbers of ranks if `ranks` is 0.
    Facts (*count)(int ranks);
};
[[nodiscard]] std::span<const Topic> topics();

[[nodiscard]] Facts count_s3d(int ranks);
[[nodiscard]] Facts count_btio(int ranks);
[[nodiscard]] Facts count_senders(int ranks);
[[nodiscard]] Facts count_sparse(int ranks);
[[nodiscard]] Facts count_tokens(int ranks);
[[nodiscard]] Facts count_disk(int ranks);
[[nodiscard]] Facts count_lattice(int ranks);
[[nodiscard]] Facts count_transposed(int ranks);
[[nodiscard]] Facts count_switches(int ranks);
[[nodiscard]] Facts count_planning(int ranks);

}  // namespace oratorio::count
