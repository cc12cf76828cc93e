// SPDX-License-Identifier: BSD-3-Clause
// Account: the counts and times that Oratorio prints at MPI_File_close for the accesses of all
// ranks.
#pragma once

#include <string>

namespace bench {

/// Reads what is printed after its construction; works only if ORATORIO_EXPLAIN names a file.
class Account {
  public:
    Account();
    /// Returns "name value unit" of each row, separated by blanks; empty if nothing was printed.
    /// Only one rank reads.
    std::string text() const;

  private:
    std::string path_;
    long begin_ = 0;  ///< size of the file at construction
};

}  // namespace bench
