// SPDX-License-Identifier: BSD-3-Clause
// Operation: one data access of a file, from its start to its outcome. The caller that starts an
// operation may drop it at once, wait for it, or test it from time to time; the file's queues step
// it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "engine/run.hpp"
#include "file/device_pipe.hpp"
#include "type/conversion.hpp"

namespace oratorio {

class Operation {
  public:
    /// `conversion`: null if the data is the same in memory and in the file. Otherwise the memory
    /// of `access` is one run with the length of the data in the file, which the operation stages
    /// in a buffer of its own, and `user` is the program's buffer.
    Operation(OperationContext context, Access access, bool collective,
              std::shared_ptr<Conversion> conversion, std::byte* user);
    /// Makes an access with memory of a device. `device` is the program's memory; the memory of
    /// `access` is one run with the length of the data.
    Operation(OperationContext context, Access access, bool collective, DeviceMemory device);

    /// Returns true once there is an outcome, which never changes afterwards. Thread-safe.
    [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
    /// Returns the outcome, which is valid when done. It counts bytes of the user's memory.
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }

    // REQUIRES, for all functions below: called by the file, by one thread at a time.

    /// Returns true if the operation was refused before it began: no data is or will be moved.
    [[nodiscard]] bool refused() const { return access_.refused.kind != ErrorKind::none; }
    /// Completes the operation and frees its conversion, which may call MPI and code of the program
    /// (bind/user_conversion). A helper thread that may do neither never steps an operation with a
    /// conversion (fit_for_helper), but it may free the completed operation. The file also calls
    /// this for an access that was moved at once, without a step.
    void finish(Outcome outcome);
    /// Advances the operation by at most `moves` steps. The first call begins the access.
    void step(int moves);
    /// Returns what the access waits for, as Run::waits_for() does; nothing before it has begun.
    [[nodiscard]] std::optional<WaitHint> waits_for() const;
    /// Returns true if the helper thread can make the next step without calling MPI or code of the
    /// program.
    [[nodiscard]] bool fit_for_helper() const;

  private:
    [[nodiscard]] Rank rank() const { return context_.file.transport.topology().rank; }
    void step_on(int moves);
    void begin();
    [[nodiscard]] bool stage();
    void end_run();
    void give_to_user(Outcome& outcome);
    void convert_what_was_read(Outcome& outcome);

    OperationContext context_;
    Access access_;  ///< moved to `run_` or `pipe_` when the access begins
    Direction direction_;
    Layout file_;  ///< layout of the data in the file, kept for conversion
    Bytes from_ = 0;
    bool collective_;
    std::shared_ptr<Conversion> conversion_;
    std::byte* user_;
    BufferPool::Lease staging_;
    std::optional<CollectiveWrite> entered_;
    std::unique_ptr<Run> run_;  ///< the access under way; null if none is, or if `pipe_` has it
    std::optional<DeviceMemory> device_;
    std::unique_ptr<DevicePipe> pipe_;
    Outcome outcome_;  ///< until done: the outcome of the runs that have ended so far
    /// Memory order: the release store in finish() publishes outcome_ to the acquire load in
    /// done().
    std::atomic<bool> done_{false};
};

using OperationPtr = std::shared_ptr<Operation>;

}  // namespace oratorio
