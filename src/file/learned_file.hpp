// SPDX-License-Identifier: BSD-3-Clause
// LearnedFile: the user's file that keeps learned times for later jobs, one for each machine.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "plan/learning.hpp"

namespace oratorio {

class LearnedFile {
  public:
    /// `path` is absolute; "" keeps nothing.
    explicit LearnedFile(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Returns the table of earlier jobs as text, as the first call read it from the file; "" if
    /// there is none. A file that belongs to another user counts as having no table. So does a
    /// malformed or too long file, for which the first call also returns an error. The next merge()
    /// replaces such a file. Thread-safe.
    [[nodiscard]] Result<std::string> of_earlier_jobs();
    /// Adds the unsaved times to the file, and marks them saved. The file is replaced atomically,
    /// so another job never reads half of it. Does nothing if the unsaved accesses took less than
    /// 0.1 s, if memory runs out, or while another job holds the folder's lock: the times then stay
    /// unsaved. After a failure, later calls do nothing. Thread-safe.
    Result<void> merge(LearnedTimes& learned);

  private:
    [[nodiscard]] Result<std::string> read() const;
    Result<void> add(LearnedTimes& learned) const;

    std::string path_;
    std::mutex mutex_;
    std::optional<std::string> earlier_;  ///< result of of_earlier_jobs(), once called
    bool is_broken_ = false;              ///< the file can't be written
};

/// Returns the path of this machine's file in the user's state folder; "" without such a folder.
/// Nodes whose names have the same leading letters share a file.
[[nodiscard]] std::string learned_path(const std::string& state_folder, const std::string& host);

}  // namespace oratorio
