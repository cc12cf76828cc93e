// SPDX-License-Identifier: BSD-3-Clause
// WindowCounter: a number at rank 0 that all ranks of a communicator add to, by one-sided
// communication: rank 0 takes no part in it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/counter.hpp"
#include "mpi/comm.hpp"

namespace oratorio {

class WindowCounter final : public Counter {
  public:
    /// Collective. The number is 0. An error is one of all ranks: a host without one-sided
    /// communication, or one that hasn't got the memory.
    static Result<std::unique_ptr<WindowCounter>> make(const Comm& comm);
    /// Collective, since MPI_Win_free waits for all ranks (MPI-4.1, 12.2.5); unless it was
    /// abandoned or MPI is finalized.
    ~WindowCounter() override;

    Result<std::int64_t> fetch_add(std::int64_t by) override { return exchange(by, MPI_SUM); }
    Result<void> set(std::int64_t to) override;
    /// Leaves the window to MPI.
    void abandon() override { window_ = MPI_WIN_NULL; }

  private:
    WindowCounter() = default;
    Result<std::int64_t> exchange(std::int64_t operand, MPI_Op op);

    MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace oratorio
