// SPDX-License-Identifier: BSD-3-Clause
// Operation: one data access of a file, from its start to its outcome. Who started it may forget it
// at once, wait for it, or look now and then; the file's queues move it on.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "file/device_pipe.hpp"
#include "run/run.hpp"
#include "type/conversion.hpp"

namespace oratorio {

class Operation {
  public:
    /// `conversion`: null when the data is the same in memory and in the file; else the memory of
    /// `access` is one run of the file's data, staged here, and `user` is the program's buffer.
    Operation(RunContext context, Access access, bool collective,
              std::shared_ptr<Conversion> conversion, std::byte* user);
    /// With memory of a device; that of `access` is one run of data, of no place.
    Operation(RunContext context, Access access, bool collective, DeviceMemory device);

    /// True from when the outcome is there; then it never changes again. Any thread may ask.
    [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
    /// Bytes are of memory data. Valid when done.
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }

    // The rest is the file's, one thread at a time.

    /// It was refused before it began: nothing is or will be moved.
    [[nodiscard]] bool refused() const { return access_.refused.kind != ErrorKind::none; }
    /// It has been done otherwise.
    void finish(Outcome outcome);
    /// Moves on, at most so many moves; begins with the first call.
    void step(int moves);
    /// As of a Run.
    [[nodiscard]] std::optional<Rest> waits_for() const;
    /// A thread of our own can make the next step without calling MPI or code of the program's.
    [[nodiscard]] bool fit_for_helper() const;

  private:
    [[nodiscard]] Rank rank() const { return context_.transport.topology().rank; }
    void step_on(int moves);
    void begin();
    [[nodiscard]] bool stage();
    void end_run();
    void give_to_user(Outcome& outcome);
    void convert_what_was_read(Outcome& outcome);

    RunContext context_;
    Access access_;  ///< the run's from when it begins
    Direction direction_;
    Layout file_;  ///< the access's, for data that is converted
    Bytes from_ = 0;
    bool collective_;
    std::shared_ptr<Conversion> conversion_;
    std::byte* user_;
    BufferPool::Lease staging_;
    std::optional<CollectiveWrite> entered_;
    std::unique_ptr<Run> run_;  ///< or `pipe_`
    std::optional<DeviceMemory> device_;
    std::unique_ptr<DevicePipe> pipe_;
    Outcome outcome_;  ///< until done of the runs that are over
    std::atomic<bool> done_{false};
};

using OperationPtr = std::shared_ptr<Operation>;

}  // namespace oratorio
