// SPDX-License-Identifier: BSD-3-Clause
// AggregatorList: the owners of the file domains. A whole list is made with a plan. The list kept
// for one rank has the aggregators that the rank deals with, and the first ones, which explain
// prints. It is a value; copies share the ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/extent.hpp"
#include "comm/shared_list.hpp"

namespace oratorio {

/// Maximum number of ranks of a list that explain prints.
inline constexpr std::size_t kRanksTold = 16;

class AggregatorList {
  public:
    AggregatorList() = default;
    /// Makes a whole list from the owners of domains 0, 1, ...
    AggregatorList(std::vector<Rank> ranks) : size_(ranks.size()), ranks_(std::move(ranks)) {}

    /// Returns the number of all aggregators, known or not.
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    /// Returns the owner of domain `index`, -1 if the owner isn't known. Takes logarithmic time.
    [[nodiscard]] Rank operator[](std::size_t index) const {
        if (whole()) return ranks_[index];
        const auto found = std::ranges::lower_bound(indices_, static_cast<std::int32_t>(index));
        const bool known = found != indices_.end() && *found == static_cast<std::int32_t>(index);
        return known ? ranks_[static_cast<std::size_t>(found - indices_.begin())] : -1;
    }
    /// Returns the domain that `rank` owns, -1 if `rank` isn't a known aggregator.
    [[nodiscard]] int index_of(Rank rank) const {
        const auto found = std::ranges::find(ranks_, rank);
        if (found == ranks_.end()) return -1;
        const auto at = static_cast<std::size_t>(found - ranks_.begin());
        return whole() ? static_cast<int>(at) : indices_[at];
    }
    /// Returns the list with only those aggregators for which `wanted(index)` holds. REQUIRES: this
    /// list is whole.
    template <class Wanted>
    [[nodiscard]] AggregatorList for_rank(Wanted wanted) const {
        std::vector<std::int32_t> indices;
        std::vector<Rank> ranks;
        for (std::size_t i = 0; i < size_; ++i) {
            if (!wanted(static_cast<int>(i))) continue;
            indices.push_back(static_cast<std::int32_t>(i));
            ranks.push_back(ranks_[i]);
        }
        AggregatorList list(std::move(ranks));
        if (list.size_ < size_) list.indices_ = std::move(indices);
        list.size_ = size_;
        return list;
    }

    /// begin() and end() delimit the known aggregators, in the order of their domains.
    [[nodiscard]] const Rank* begin() const { return ranks_.begin(); }
    [[nodiscard]] const Rank* end() const { return ranks_.end(); }
    [[nodiscard]] Rank front() const { return ranks_.front(); }
    bool operator==(const AggregatorList&) const = default;

  private:
    [[nodiscard]] bool whole() const { return ranks_.size() == size_; }

    std::size_t size_ = 0;
    SharedList<Rank> ranks_;            ///< ranks of the known aggregators
    SharedList<std::int32_t> indices_;  ///< domains of the known aggregators; empty: all domains
};

}  // namespace oratorio
