// SPDX-License-Identifier: BSD-3-Clause
// DatatypeContents: how a datatype was made (its constructor's arguments), the same for ordinary
// and large-count constructors. Owns the handles of the member types.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "mpi/host.hpp"

namespace oratorio {

/// Move-only.
class DatatypeContents {
  public:
    /// For types made by a constructor; a predefined type has a combiner and nothing else.
    static Result<DatatypeContents> of(MPI_Datatype type);

    DatatypeContents(DatatypeContents&&) noexcept = default;
    DatatypeContents& operator=(DatatypeContents&&) = delete;
    ~DatatypeContents();

    [[nodiscard]] int combiner() const { return combiner_; }
    /// Predefined by MPI: named, or a Fortran type of a given precision. Has no members and is
    /// never freed.
    [[nodiscard]] bool predefined() const;
    /// The arguments that are numbers, in the order that MPI-4.1, 5.1.13 lists for get_contents:
    /// integers, then addresses. The large counts of a large-count constructor are put where the
    /// ordinary one has them.
    [[nodiscard]] std::int64_t number(std::int64_t at) const;
    [[nodiscard]] const std::vector<MPI_Datatype>& members() const { return members_; }

  private:
    DatatypeContents() = default;
    Result<void> read(MPI_Datatype type);
    Result<void> read_large(MPI_Datatype type);

    int combiner_ = 0;
    std::vector<int> integers_;
    std::vector<MPI_Count> counts_;
    std::vector<MPI_Aint> addresses_;
    std::vector<MPI_Datatype> members_;
};

}  // namespace oratorio
