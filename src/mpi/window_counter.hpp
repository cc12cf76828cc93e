// WindowCounter: a number at rank 0 that all ranks of a communicator add to, by one-sided
// communication: rank 0 takes no part in it. For ranks that share no memory.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/comm.hpp"

namespace oratorio {

class WindowCounter {
  public:
    /// Collective. The number is 0. An error is one of all ranks: a host without one-sided
    /// communication, or one that hasn't got the memory.
    static Result<std::unique_ptr<WindowCounter>> make(const Comm& comm);
    WindowCounter(const WindowCounter&) = delete;
    WindowCounter& operator=(const WindowCounter&) = delete;
    /// Collective, since MPI_Win_free waits for all ranks (MPI-4.1, 12.2.5); unless it was
    /// abandoned or MPI is finalized.
    ~WindowCounter();

    Result<std::int64_t> fetch_add(std::int64_t by) { return exchange(by, MPI_SUM); }
    Result<void> set(std::int64_t to);
    /// Leaves the window to MPI: some rank may not come to free it.
    void abandon() { window_ = MPI_WIN_NULL; }

  private:
    WindowCounter() = default;
    Result<std::int64_t> exchange(std::int64_t operand, MPI_Op op);

    MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace oratorio
