// SPDX-License-Identifier: BSD-3-Clause
// DevicePipe: an access whose memory on this rank is a device's, in pieces that go by way of two
// pieces of the host's: one is copied while the other is written or read. Each piece is an access
// of its own. A collective one goes on until no rank has a piece left: what all must agree on for
// that comes with the end of each piece. Stepped by one thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "device/device_memory.hpp"
#include "run/run.hpp"

namespace oratorio {

class DevicePipe {
  public:
    /// The memory of `access` is one run of data, of no place.
    DevicePipe(const RunContext& context, Access access, DeviceMemory memory, bool collective);
    ~DevicePipe();
    DevicePipe(const DevicePipe&) = delete;
    DevicePipe& operator=(const DevicePipe&) = delete;

    /// As a Run's. At most a piece is read or written in a step.
    bool step(int moves);
    [[nodiscard]] std::optional<Rest> waits_for() const;
    /// As a Run's.
    [[nodiscard]] bool sends_messages() const { return run_ && run_->sends_messages(); }
    /// Valid when done. Of a read, bytes are those that have arrived in the device's memory.
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

    RunContext context_;
    Access access_;
    DeviceMemory memory_;
    bool collective_;
    Cursor cursor_;  ///< of the copies
    Bytes total_;
    Bytes copied_ = 0;   ///< data bytes whose copies were started
    Bytes started_ = 0;  ///< data bytes of the pieces that were written or read, or are
    int which_ = 0;      ///< piece of the host's memory, for the next one
    std::unique_ptr<DeviceQueue> queue_;
    StagingBlocks::Lease block_;
    std::unique_ptr<Run> run_;
    bool ended_ = false;     ///< this rank's part: by an error, or by the end of the file
    bool all_go_on_ = true;  ///< collective
    Outcome outcome_;
};

}  // namespace oratorio
