// SPDX-License-Identifier: BSD-3-Clause
// AggregatorList: who owns which file domain. Whole as a plan is made; what is kept for a rank
// knows those that it deals with, and the first ones, which explain tells. A value; copies share
// the list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/extent.hpp"
#include "base/shared_list.hpp"

namespace oratorio {

/// Ranks of a list that explain tells by their numbers.
inline constexpr std::size_t kRanksTold = 16;

class AggregatorList {
  public:
    AggregatorList() = default;
    /// The owners of domains 0, 1, ...
    AggregatorList(std::vector<Rank> ranks) : size_(ranks.size()), ranks_(std::move(ranks)) {}

    /// Of all, known or not.
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    /// Owner of domain `index`; -1 for one that isn't known. O(log known).
    [[nodiscard]] Rank operator[](std::size_t index) const {
        if (whole()) return ranks_[index];
        const auto found = std::ranges::lower_bound(indices_, static_cast<std::int32_t>(index));
        const bool known = found != indices_.end() && *found == static_cast<std::int32_t>(index);
        return known ? ranks_[static_cast<std::size_t>(found - indices_.begin())] : -1;
    }
    /// Which domain a rank owns; -1 where that isn't known.
    [[nodiscard]] int index_of(Rank rank) const {
        const auto found = std::ranges::find(ranks_, rank);
        if (found == ranks_.end()) return -1;
        const auto at = static_cast<std::size_t>(found - ranks_.begin());
        return whole() ? static_cast<int>(at) : indices_[at];
    }
    /// Of a whole list: it with no others known than those for which `wanted(index)` holds.
    template <class Wanted>
    [[nodiscard]] AggregatorList only(Wanted wanted) const {
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

    /// Those that are known, in the order of their domains.
    [[nodiscard]] const Rank* begin() const { return ranks_.begin(); }
    [[nodiscard]] const Rank* end() const { return ranks_.end(); }
    [[nodiscard]] Rank front() const { return ranks_.front(); }
    bool operator==(const AggregatorList&) const = default;

  private:
    [[nodiscard]] bool whole() const { return ranks_.size() == size_; }

    std::size_t size_ = 0;
    SharedList<Rank> ranks_;            ///< known
    SharedList<std::int32_t> indices_;  ///< of their domains; none of a whole list
};

}  // namespace oratorio
