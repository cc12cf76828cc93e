// SPDX-License-Identifier: BSD-3-Clause
// Comm: owner of a communicator of our own, and the one place where results of the host become
// errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "mpi/host.hpp"

namespace oratorio {

/// Success, or an Error made from the MPI error class: communicator, no_memory, type, count,
/// argument or other. `doing` is what was being tried; the host's own text is added to it.
[[nodiscard]] Result<void> check(int code, std::string_view doing);

/// Collective over `comm`. The worst error of all ranks, of the same kind and rank on all of them,
/// so that a failure of one rank's own is everybody's. `what` is the text on the other ranks.
[[nodiscard]] Result<void> agree_on_error(MPI_Comm comm, const Error& mine, std::string_view what);

/// Move-only. Frees the communicator unless MPI has been finalized. Errors are returned, never
/// fatal.
class Comm {
  public:
    /// `communicator` unless it is an intracommunicator.
    static Result<void> check_kind(MPI_Comm comm);
    /// Collective over `of`, an intracommunicator. A new context for the same ranks in the same
    /// order; neither the program's attributes nor its assertions (such as
    /// mpi_assert_no_any_source) come along, which is why this isn't MPI_Comm_dup.
    static Result<Comm> duplicate(MPI_Comm of);
    /// The same as one call of the host, so that an error may be this rank's alone.
    static Result<Comm> duplicate_unagreed(MPI_Comm of);
    /// Collective. The ranks that share memory with this one, ordered by rank.
    [[nodiscard]] Result<Comm> split_by_node() const;
    /// Collective. The ranks of `of` that say they are in it, in their order; nothing on others.
    static Result<std::optional<Comm>> some(MPI_Comm of, bool in_it);

    Comm(Comm&& other) noexcept;
    Comm& operator=(Comm&& other) noexcept;
    ~Comm();

    [[nodiscard]] MPI_Comm get() const { return comm_; }
    /// Leaves it to MPI: it is never freed.
    void leave() { comm_ = MPI_COMM_NULL; }
    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    /// Local. The rank in this communicator of rank 0 of `part`.
    [[nodiscard]] Result<Rank> first_of(const Comm& part) const;

  private:
    Comm() = default;
    static Result<Comm> adopt(MPI_Comm comm);

    MPI_Comm comm_ = MPI_COMM_NULL;
    Rank rank_ = 0;
    int size_ = 1;
};

/// MPI_Get_library_version's text, which says whose MPI the host is.
[[nodiscard]] std::string library_version();
/// MPI_COMM_WORLD and MPI_COMM_SELF are or have been there: not where there are only sessions.
[[nodiscard]] bool world_exists();
/// MPI has been shut down: handles can be neither used nor freed.
[[nodiscard]] bool mpi_finalized();
/// The level of thread support that the program has (MPI-4.1, 11.6); `unknown` where the host
/// doesn't tell.
[[nodiscard]] int thread_level(int unknown);

}  // namespace oratorio
