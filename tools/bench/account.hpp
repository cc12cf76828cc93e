// SPDX-License-Identifier: BSD-3-Clause
// What Oratorio tells at MPI_File_close of the accesses of all ranks: counts and times.
#pragma once

#include <string>

namespace bench {

/// Reads what is told after this was made; only where ORATORIO_EXPLAIN names a file.
class Account {
  public:
    Account();
    /// "name value unit" of each row, blanks between; empty if nothing was told. One rank reads.
    std::string text() const;

  private:
    std::string path_;
    long begin_ = 0;  ///< what the file held before
};

}  // namespace bench
