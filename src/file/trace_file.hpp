// SPDX-License-Identifier: BSD-3-Clause
// TraceFile: the file that ORATORIO_TRACE names, a JSON object in the trace-event format. A process
// that has something to add locks the file, adds a section of events and unlocks the file; between
// sections the file is complete. Private to src/file.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace oratorio {

/// Size in bytes beyond which no more sections are added to a trace file.
inline constexpr Bytes kTraceFileMost = Bytes{1} << 30;

class TraceFile {
  public:
    /// Opens the file, and waits up to ten seconds for other processes that add to it. Unless
    /// `adds`, replaces a trace that was last written before this process began, because it belongs
    /// to an earlier run. Fails if the file isn't a trace, or if it is a trace that ends early or
    /// is full.
    static Result<TraceFile> open(const std::string& path, bool adds = false);

    /// Returns the origin of the trace's times, in microseconds since 1970.
    [[nodiscard]] std::int64_t began() const { return began_; }
    /// Returns the number of this section, which is unique in the file.
    [[nodiscard]] Offset number() const { return begin_; }
    /// Adds an event, a JSON object. Does nothing after a failure.
    void add(std::string_view event);
    /// Marks the section as failed, so that close() removes it and returns the first error.
    void give_up(const Error& error);
    /// Ends the section. Returns the first failure; the file is then what it was before.
    Result<void> close();

  private:
    TraceFile(Descriptor file, std::int64_t began, Bytes size, bool is_new);
    void flush();

    Descriptor file_;
    std::int64_t began_;
    Bytes before_;  ///< length of the file before this section
    Offset begin_;
    Offset at_;
    std::string text_;   ///< text that isn't written yet
    bool first_ = true;  ///< no event was added yet
    Error failed_;
};

/// Returns a text as a JSON string, with its quotes; bytes that aren't UTF-8 become U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace oratorio
