// SPDX-License-Identifier: BSD-3-Clause
// TraceFile: the file that ORATORIO_TRACE names, a JSON object of the trace-event format. Whoever
// has something to add locks it, adds a section of events and unlocks it; between times it is
// whole. Private to src/file.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace oratorio {

/// A file isn't made larger.
inline constexpr Bytes kTraceFileMost = Bytes{1} << 30;

class TraceFile {
  public:
    /// Waits up to ten seconds for others who add. What an earlier run left there is replaced: a
    /// trace last written before this process began. Errors: what isn't a trace, a trace that ends
    /// early or is full.
    static Result<TraceFile> open(const std::string& path);

    /// What times of the trace count from, microseconds since 1970.
    [[nodiscard]] std::int64_t began() const { return began_; }
    /// Of this section; no other has it.
    [[nodiscard]] Offset number() const { return begin_; }
    /// An event: a JSON object. After a failure it does nothing.
    void add(std::string_view event);
    /// The section can't be finished: closing takes it back.
    void give_up(const Error& error);
    /// The first failure; the file is then what it was before.
    Result<void> close();

  private:
    TraceFile(Descriptor file, std::int64_t began, Bytes size, bool is_new);
    void flush();

    Descriptor file_;
    std::int64_t began_;
    Bytes before_;  ///< how long it was
    Offset begin_;
    Offset at_;
    std::string text_;   ///< that isn't written yet
    bool first_ = true;  ///< no event was added yet
    Error failed_;
};

/// A text as a JSON string, quotes and all; bytes that aren't UTF-8 become U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace oratorio
