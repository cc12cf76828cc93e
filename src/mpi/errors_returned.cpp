// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/errors_returned.hpp"

#include <algorithm>
#include <mutex>

#include "mpi/comm.hpp"

namespace oratorio {
namespace {

/// A communicator of the program with a replaced error handler.
struct Replaced {
    MPI_Comm comm;
    MPI_Errhandler before;
    int users;
};

/// The list of replaced handlers. It belongs to the process, as the host's handlers do.
class Handlers {
  public:
    /// Returns false, and replaces nothing, if the host refuses, if too many are replaced, or if
    /// the communicator may have no handler of its own.
    bool replace(MPI_Comm comm) {
        const std::lock_guard lock(mutex_);
        if (Replaced* const known = find(comm)) {
            ++known->users;
            return true;
        }
        MPI_Errhandler before = MPI_ERRHANDLER_NULL;
        if (count_ == all_.size() || host().Comm_get_errhandler(comm, &before) != MPI_SUCCESS)
            return false;
        if (may_be_unset(comm, before) ||
            host().Comm_set_errhandler(comm, MPI_ERRORS_RETURN) != MPI_SUCCESS) {
            host().Errhandler_free(&before);
            return false;
        }
        all_[count_++] = {comm, before, 1};
        return true;
    }
    void restore(MPI_Comm comm) {
        const std::lock_guard lock(mutex_);
        Replaced* const known = find(comm);
        if (known == nullptr || --known->users > 0) return;
        host().Comm_set_errhandler(comm, known->before);
        host().Errhandler_free(&known->before);
        *known = all_[--count_];
    }

  private:
    /// Returns true if the communicator may have no handler of its own. MPICH has no handler on
    /// MPI_COMM_SELF until the program sets one: it reports MPI_ERRORS_ARE_FATAL and uses the
    /// handler of MPI_COMM_WORLD. Once set on MPI_COMM_SELF, even MPI_ERRORS_ARE_FATAL would be
    /// used instead of the world's handler.
    static bool may_be_unset([[maybe_unused]] MPI_Comm comm,
                             [[maybe_unused]] MPI_Errhandler handler) {
#ifdef OPEN_MPI
        return false;
#else
        return comm == MPI_COMM_SELF && handler == MPI_ERRORS_ARE_FATAL;
#endif
    }
    Replaced* find(MPI_Comm comm) {
        const auto end = all_.begin() + static_cast<std::ptrdiff_t>(count_);
        const auto found =
            std::find_if(all_.begin(), end, [&](const Replaced& one) { return one.comm == comm; });
        return found != end ? &*found : nullptr;
    }

    std::mutex mutex_;  ///< guards all below
    std::array<Replaced, 16> all_{};
    std::size_t count_ = 0;
};

Handlers& handlers() {
    static Handlers all;
    return all;
}

}  // namespace

ErrorsReturned::ErrorsReturned() {
    if (!world_exists() || mpi_finalized()) return;
    std::size_t count = 0;
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
        if (handlers().replace(comm)) replaced_[count++] = comm;
}

ErrorsReturned::ErrorsReturned(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return;
    if (handlers().replace(comm)) {
        replaced_[0] = comm;
    } else if (world_exists() && comm == MPI_COMM_SELF && handlers().replace(MPI_COMM_WORLD)) {
        replaced_[0] = MPI_COMM_WORLD;
    }
}

ErrorsReturned::~ErrorsReturned() {
    for (MPI_Comm comm : replaced_)
        if (comm != MPI_COMM_NULL) handlers().restore(comm);
}

}  // namespace oratorio
