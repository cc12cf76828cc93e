// SPDX-License-Identifier: BSD-3-Clause
// FlushStatus: shares the outcome of a step that each rank runs repeatedly and on its own, such as
// a flush (fsync). Linux may report a write-back error to one caller only: when a file's metadata
// couldn't be written, the first rank that flushes gets the error, and the next rank finds nothing
// left to flush. If all ranks share memory, they report such errors to each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#include "comm/transport.hpp"

namespace oratorio {

/// The part of a FlushStatus that lies in the ranks' shared memory. Memory order: sequentially
/// consistent. A rank raises `failed` before it leaves its turn (`under_way`, `pauses`), and reads
/// `failed` after it has seen a pause; so it sees the failures of all turns before that pause.
struct SharedFlushStatus {
    std::atomic<std::uint64_t> under_way{0};  ///< ranks that are in a turn
    std::atomic<std::uint64_t> pauses{0};     ///< number of moments in which no rank was in a turn
    std::atomic<std::uint64_t> failed{0};     ///< number of the last failed turn, and its ErrorKind
};

/// One rank's turns. In each turn the rank runs the step once. REQUIRES: no rank is in a turn when
/// the object is made.
class FlushStatus {
  public:
    explicit FlushStatus(Transport& transport);
    /// Runs `step` as this rank's next turn, and waits for the ranks that are in a turn at the same
    /// time. If `step` succeeds here, but has failed in this turn on a rank that took its turn
    /// earlier or at the same time, returns that rank's kind of error with the text `theirs`.
    Result<void> take(const std::function<Result<void>()>& step, std::string_view theirs);

  private:
    Transport& transport_;
    SharedFlushStatus* shared_;
    std::uint64_t turn_ = 0;
    std::uint64_t told_ = 0;  ///< the last failed turn of any rank that was reported here
};

}  // namespace oratorio
