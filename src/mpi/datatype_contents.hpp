// SPDX-License-Identifier: BSD-3-Clause
// DatatypeContents: how a datatype was made (its constructor's arguments), in one form for ordinary
// and large-count constructors. Owns the handles of the member types.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "mpi/host.hpp"
#include "type/list.hpp"

namespace oratorio {

/// Returns a datatype's combiner (MPI-4.1, 5.1.13), whether or not it was made with large counts.
[[nodiscard]] Result<int> combiner_of(MPI_Datatype type);

/// Returns true for a type predefined by MPI: named, a Fortran type of a given precision, or a pair
/// of MPI_Type_get_value_index. Such a type is never freed, and has no members that are visited.
[[nodiscard]] Result<bool> is_predefined(MPI_Datatype type);

/// The types of a pair of MPI_Type_get_value_index (MPI-4.1, 6.9.4): both are predefined.
struct ValueIndex {
    MPI_Datatype value;
    MPI_Datatype index;
};
/// Returns the types of a pair that has no name of its own; nothing for any other type.
[[nodiscard]] Result<std::optional<ValueIndex>> value_index_of(MPI_Datatype type);

/// The constructor's arguments of one datatype. Move-only.
class DatatypeContents {
  public:
    /// Reads how a datatype was made. A predefined type has a combiner and nothing else. Long lists
    /// are allocated from `memory`, which may be null.
    static Result<DatatypeContents> of(MPI_Datatype type,
                                       const std::shared_ptr<BlockCache>& memory = nullptr);

    DatatypeContents(DatatypeContents&&) noexcept = default;
    DatatypeContents& operator=(DatatypeContents&&) = delete;
    ~DatatypeContents();

    [[nodiscard]] int combiner() const { return combiner_; }
    /// Returns numeric argument `at`, in the order of MPI_Type_get_contents (MPI-4.1, 5.1.13):
    /// integers, then addresses. The counts of a large-count constructor take the places that the
    /// ordinary constructor gives them.
    [[nodiscard]] std::int64_t number(std::int64_t at) const;
    /// Calls `use` with a pointer to number `first` and returns the result. The later numbers of
    /// the same list of the constructor follow in memory. The type of the numbers differs from list
    /// to list.
    template <class Use>
    auto with_numbers(std::int64_t first, const Use& use) const;
    [[nodiscard]] const std::vector<MPI_Datatype>& members() const { return members_; }

  private:
    DatatypeContents() = default;
    Result<void> read(MPI_Datatype type, const std::shared_ptr<BlockCache>& memory);
    Result<void> read_large(MPI_Datatype type, const std::shared_ptr<BlockCache>& memory);
    /// Returns how many integers come before the counts.
    [[nodiscard]] std::size_t integers_before() const;

    int combiner_ = 0;
    List<int> integers_;
    List<MPI_Count> counts_;
    List<MPI_Aint> addresses_;
    std::vector<MPI_Datatype> members_;
};

template <class Use>
auto DatatypeContents::with_numbers(std::int64_t first, const Use& use) const {
    const std::size_t before = integers_before();
    auto index = static_cast<std::size_t>(first);
    if (index < before) return use(integers_.data() + index);
    index -= before;
    if (index < counts_.size()) return use(counts_.data() + index);
    index -= counts_.size();
    if (before + index < integers_.size()) return use(integers_.data() + before + index);
    return use(addresses_.data() + (before + index - integers_.size()));
}

}  // namespace oratorio
