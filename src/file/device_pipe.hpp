// SPDX-License-Identifier: BSD-3-Clause
// DevicePipe: an access with memory of a device on this rank. The data goes in pieces through two
// bounce buffers in host memory: one buffer is copied while the other is written or read. Each
// piece is an access of its own. A collective access goes on until no rank has a piece left; the
// ranks agree on that at the end of each piece, in messages that the piece needs anyway.
//
// REQUIRES: stepped by one thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "device/device_memory.hpp"
#include "engine/run.hpp"
#include "file/workspace.hpp"

namespace oratorio {

/// Observes one operation from its plan to its end.
class OperationObserver : public PlanObserver {
  public:
    /// Called once, when the operation ends.
    virtual void ended(const Outcome& outcome) = 0;
};

/// The inputs of an operation: the inputs of its runs, its record in the trace, and its observer.
/// Everything referenced outlives the operation.
struct OperationContext {
    const FileContext& file;
    std::shared_ptr<const Agreed<PlanConfig>> config;
    RunNumbers& numbers;
    TracedAccess traced;  ///< the access in the trace, if a trace is recorded
    std::shared_ptr<OperationObserver> observer;  ///< never null

    /// Returns the inputs of the run that begins now. A collective run takes the next number.
    [[nodiscard]] RunContext next_run(bool collective) const {
        return {file, config, *observer, collective ? numbers.next() : 0};
    }
};

class DevicePipe {
  public:
    /// `access.memory` is one run with the length of the data; `memory` is the program's memory, on
    /// a device.
    DevicePipe(const OperationContext& context, Access access, DeviceMemory memory,
               bool collective);
    ~DevicePipe();
    DevicePipe(const DevicePipe&) = delete;
    DevicePipe& operator=(const DevicePipe&) = delete;

    /// Advances the access as Run::step() does, by at most one piece. Returns true when it is done.
    bool step(int moves);
    [[nodiscard]] std::optional<WaitHint> waits_for() const;
    /// Returns true if the piece under way may exchange messages now (Run::sends_messages).
    [[nodiscard]] bool sends_messages() const { return run_ && run_->sends_messages(); }
    /// Returns the outcome, which is valid once the access is done. A read counts the bytes that
    /// have arrived in the device's memory.
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }

  private:
    [[nodiscard]] bool writes() const { return access_.direction == Direction::write; }
    [[nodiscard]] Bytes bytes_left() const { return total_ - started_; }
    [[nodiscard]] bool goes_on() const;
    [[nodiscard]] Error open();
    void begin_piece();
    void end_piece();
    void copy_ahead();
    bool end_copies();
    void note(const Error& error);

    OperationContext context_;
    Access access_;
    DeviceMemory memory_;
    bool collective_;
    Cursor cursor_;  ///< position of the copies in the device's memory
    Bytes total_;
    Bytes copied_ = 0;   ///< data bytes of the copies that were started
    Bytes started_ = 0;  ///< data bytes of the pieces that have begun
    int which_ = 0;      ///< bounce buffer of the next piece
    std::unique_ptr<DeviceQueue> queue_;
    StagingBlocks::Lease block_;
    std::unique_ptr<Run> run_;
    bool ended_ = false;     ///< this rank moves no more data, because of an error or the end of
                             ///< the file
    bool all_go_on_ = true;  ///< collective: some rank still has a piece
    Outcome outcome_;
};

}  // namespace oratorio
