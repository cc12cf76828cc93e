// SPDX-License-Identifier: BSD-3-Clause
// The result of a system call together with its error number. errno is read only where that call
// has set it. Interrupted calls are repeated a limited number of times.
#pragma once

#include <cerrno>
#include <cstdint>

#include "base/error.hpp"

namespace oratorio {

/// A call fails with EINTR after this many interruptions in a row. With a timer of 1 kHz, that many
/// take 100 seconds; on a file system that always returns EINTR, far less than one second.
inline constexpr int kInterruptionsMax = 100'000;

/// Maximum number of retries in a row of a call that fails with a temporary error, such as EAGAIN.
/// Progress, such as bytes moved, restarts the count.
inline constexpr int kRetriesMax = 100;

struct Answer {
    std::int64_t result = 0;  ///< result of the call; -1 if it failed
    int error_number = 0;     ///< 0 if it succeeded; otherwise errno or kInvalidResult

    [[nodiscard]] bool failed() const { return result < 0; }
};

/// Makes the answer of a system call that has just returned `result`. REQUIRES: no other call has
/// changed errno since.
[[nodiscard]] inline Answer answer_of(std::int64_t result) {
    if (result >= 0) return {result, 0};
    return {-1, result == -1 && errno != 0 ? errno : kInvalidResult};
}

/// Calls `call()` until no signal interrupts it, at most kInterruptionsMax times.
template <class Call>
[[nodiscard]] Answer uninterrupted(Call call) {
    Answer answer;
    for (int calls = 0; calls < kInterruptionsMax; ++calls) {
        answer = answer_of(call());
        if (answer.error_number != EINTR) break;
    }
    return answer;
}

}  // namespace oratorio
