// SPDX-License-Identifier: BSD-3-Clause
// Comm: owns a communicator that Oratorio made. check() turns the host's error codes into Errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "mpi/host.hpp"

namespace oratorio {

/// Returns success, or an Error made from the MPI error class: communicator, no_memory, type,
/// count, argument or other. `doing` says what was tried; the host's message is appended, except
/// with the MPI-5 ABI.
[[nodiscard]] Result<void> check(int code, std::string_view doing);

/// Collective over `comm`. Returns the worst error of all ranks, with the same kind and rank on all
/// of them, so that the failure of one rank is a failure of all. `what` is the error text on ranks
/// other than the failed one.
[[nodiscard]] Result<void> agree_on_error(MPI_Comm comm, const Error& mine, std::string_view what);

/// Owns a communicator that Oratorio made, and frees it unless MPI has been finalized. Errors on it
/// are returned, not fatal; src/mpi/README.md names an exception. Move-only.
class Comm {
  public:
    /// Returns the error `communicator` unless `comm` is an intracommunicator.
    static Result<void> check_kind(MPI_Comm comm);
    /// Collective over `of`, an intracommunicator. Returns a new context for the same ranks in the
    /// same order. It has neither the program's attributes nor its assertions (such as
    /// mpi_assert_no_any_source), which is why this isn't MPI_Comm_dup.
    static Result<Comm> duplicate(MPI_Comm of);
    /// Does what duplicate() does without the agreement on errors: it may fail on this rank alone.
    static Result<Comm> duplicate_unagreed(MPI_Comm of);
    /// Collective over `of`. Returns a communicator of the ranks that share memory with this rank,
    /// ordered by rank.
    static Result<Comm> split_by_node(MPI_Comm of);
    /// Collective. Returns a communicator of the ranks of `of` that pass true, in their order;
    /// returns nothing on the other ranks.
    static Result<std::optional<Comm>> some(MPI_Comm of, bool in_it);

    Comm(Comm&& other) noexcept;
    Comm& operator=(Comm&& other) noexcept;
    ~Comm();

    [[nodiscard]] MPI_Comm get() const { return comm_; }
    /// Leaves the communicator to MPI: it is never freed.
    void leave() { comm_ = MPI_COMM_NULL; }
    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    /// Returns the rank that rank 0 of this communicator has in `other`. Local.
    [[nodiscard]] Result<Rank> first_rank_in(MPI_Comm other) const;

  private:
    Comm() = default;
    static Result<Comm> adopt(MPI_Comm comm);

    MPI_Comm comm_ = MPI_COMM_NULL;
    Rank rank_ = 0;
    int size_ = 1;
};

/// Returns the string of MPI_Get_library_version, which identifies the host.
[[nodiscard]] std::string library_version();
/// Returns true if MPI_COMM_WORLD and MPI_COMM_SELF exist or have existed. They never do in a
/// program that uses only sessions.
[[nodiscard]] bool world_exists();
/// Returns true if MPI_Finalize has ended: only handles of a session can still be used or freed.
[[nodiscard]] bool mpi_finalized();
/// Returns the program's level of thread support (MPI-4.1, 11.6); `unknown` if the host doesn't
/// report it.
[[nodiscard]] int thread_level(int unknown);

}  // namespace oratorio
