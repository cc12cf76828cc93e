// SPDX-License-Identifier: BSD-3-Clause
// Explanations as text for people: how an access has ended, repetitions, and the summary at close.
#pragma once

#include <string>

#include "base/direction.hpp"
#include "base/error.hpp"
#include "stats/stats.hpp"

namespace oratorio {

/// How an explained access has ended, as rank 0 knows it.
struct ExplainedEnd {
    Direction direction = Direction::read;
    bool collective = false;
    Bytes bytes = 0;         ///< data bytes of all ranks that take part
    int ranks = 0;           ///< ranks with data
    double seconds = 0;      ///< time from rank 0's call to the end of the access
    bool started = false;    ///< nonblocking or split: the program ran on during the access
    bool cut_short = false;  ///< rank 0 got less than it asked for
    Error error{};

    /// Returns true if all bytes were moved.
    [[nodiscard]] bool complete() const { return error.kind == ErrorKind::none && !cut_short; }
};

/// The number of repetitions of an explained access, and their bytes and time.
struct Repeated {
    int times = 0;
    Bytes bytes = 0;
    double seconds = 0;

    void add(const ExplainedEnd& end) {
        times += 1;
        bytes += end.complete() ? end.bytes : 0;
        seconds += end.seconds;
    }
};

/// Returns "collective write" or the like.
[[nodiscard]] std::string kind_text(Direction direction, bool collective);

/// Returns a line with bytes, time and rate: "collective write 1: 512 MiB of 4 ranks in ...".
[[nodiscard]] std::string end_text(const ExplainedEnd& end, int number);

/// Returns how often an access was repeated and how fast, with advice if its calls are many and
/// small.
[[nodiscard]] std::string repeated_text(int number, const Repeated& again);

/// Returns a short summary, at most seven lines, of the counts and times of accesses. `sums` are
/// over all of the `ranks` ranks.
[[nodiscard]] std::string summary_text(const Stats& sums, int ranks);

}  // namespace oratorio
