// SPDX-License-Identifier: BSD-3-Clause
// LearnedFile: the file of a user in which learned times outlive the job, one for each machine.
#pragma once

#include <string>

#include "base/result.hpp"
#include "plan/learning.hpp"

namespace oratorio {

class LearnedFile {
  public:
    /// `path` is absolute; "" keeps nothing.
    explicit LearnedFile(std::string path) : path_(std::move(path)) {}

    /// Returns the file's table as text, "" if there is none. A file that is malformed, too long,
    /// or of another user counts as none; the next merge() replaces it.
    [[nodiscard]] Result<std::string> read() const;
    /// Adds the unsaved times to the file, and marks them saved. The file is replaced at once, so
    /// another job never reads half of it. Nothing happens if the unsaved accesses took less than
    /// 0.1 s, or while another job holds the folder's lock: then the times stay unsaved.
    Result<void> merge(LearnedTimes& learned) const;

  private:
    std::string path_;
};

/// Returns the path of the file for this machine below the folder of the user's state: nodes whose
/// names differ only in what follows their letters share a file. Returns "" without a folder.
[[nodiscard]] std::string learned_path(const std::string& state_folder, const std::string& host);

}  // namespace oratorio
