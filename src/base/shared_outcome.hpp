// SPDX-License-Identifier: BSD-3-Clause
// A step that each rank takes by itself, and takes again and again, whose failure the system may
// tell to one rank alone: a flush that couldn't write what belongs to the file and not to its data
// is told to the first who flushes, and the next finds nothing left to do. Ranks that share memory
// tell each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/transport.hpp"

namespace oratorio {

/// In memory that the ranks share.
struct SharedOutcome {
    std::atomic<std::uint64_t> under_way{0};  ///< ranks that are at it
    std::atomic<std::uint64_t> pauses{0};     ///< times that none was any more
    std::atomic<std::uint64_t> failed{0};     ///< the last turn that failed, and its ErrorKind
};

/// One rank's turns. Made when no rank is at it.
class Turns {
  public:
    explicit Turns(Transport& transport);
    /// The next one. A failure of the same turn on another rank is this rank's, too, if it was over
    /// before this rank's own, or both were under way at once. Waits for those only.
    Result<void> take(const std::function<Result<void>()>& step, std::string_view theirs);

  private:
    Transport& transport_;
    SharedOutcome* shared_;
    std::uint64_t turn_ = 0;
    std::uint64_t told_ = 0;  ///< the last failed turn of another rank
};

}  // namespace oratorio
