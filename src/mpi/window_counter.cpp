// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/window_counter.hpp"

namespace oratorio {

Result<std::unique_ptr<WindowCounter>> WindowCounter::make(const Comm& comm) {
    std::unique_ptr<WindowCounter> counter(new WindowCounter);
    const MPI_Aint bytes = comm.rank() == 0 ? sizeof(std::int64_t) : 0;
    void* memory = nullptr;  // the host's
    auto made = check(host().Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, comm.get(),
                                          &memory, &counter->window_),
                      "making a window for the shared counter");
    if (made) {
        host().Win_set_errhandler(counter->window_, MPI_ERRORS_RETURN);
        made = check(host().Win_lock_all(MPI_MODE_NOCHECK, counter->window_),
                     "locking the window of the shared counter");
    }
    // By the same means as all later accesses, so that it comes before them.
    if (made && comm.rank() == 0) made = counter->set(0);
    int failed = made ? 0 : 1;
    const auto agreed =
        check(host().Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, comm.get()),
              "agreeing on the shared counter");
    if (made && agreed && failed == 0) return counter;
    counter->abandon();
    if (!made) return made.error();
    if (!agreed) return agreed.error();
    return Error::make(ErrorKind::other, "another rank can't make the shared counter");
}

WindowCounter::~WindowCounter() {
    if (window_ == MPI_WIN_NULL || mpi_finalized()) return;
    host().Win_unlock_all(window_);
    host().Win_free(&window_);
}

Result<void> WindowCounter::set(std::int64_t to) {
    const auto before = exchange(to, MPI_REPLACE);
    return before ? Result<void>() : before.error();
}

Result<std::int64_t> WindowCounter::exchange(std::int64_t operand, MPI_Op op) {
    std::int64_t before = 0;
    int code = host().Fetch_and_op(&operand, &before, MPI_INT64_T, 0, 0, op, window_);
    if (code == MPI_SUCCESS) code = host().Win_flush(0, window_);
    if (auto done = check(code, "reaching the shared counter"); !done) return done.error();
    return before;
}

}  // namespace oratorio
