// SPDX-License-Identifier: BSD-3-Clause
// Account: the counts and times that Oratorio prints at MPI_File_close for the accesses of all
// ranks.
#pragma once

#include <string>

namespace bench {

/// Reads what Oratorio has printed to the file that ORATORIO_EXPLAIN names since this object was
/// created. Works only if the variable is an absolute path.
class Account {
  public:
    Account();
    /// Returns "name value unit" of each row, separated by blanks, or "" if nothing was printed.
    /// The text is complete only on rank 0, where the library prints the rows.
    std::string text() const;

  private:
    std::string path_;
    long begin_ = 0;  ///< size of the file at construction
};

}  // namespace bench
