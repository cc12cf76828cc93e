// SPDX-License-Identifier: BSD-3-Clause
// The results as JSON, one object per line. Rank 0 writes each line when the result is known.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "arm.hpp"

namespace bench {

/// Facts that are the same in all passes.
struct Setup {
    std::string workload;
    int ranks;
    int nodes;
    std::uint64_t bytes;       ///< bytes that all ranks move in the first direction
    std::uint64_t file_bytes;  ///< size of the file, including holes
    std::uint64_t pieces;      ///< pieces of all ranks, contiguous in memory and in the file
    std::string io_library;    ///< the library that defines MPI_File_open
};

class Report {
  public:
    /// Writes to `path`; an empty path (ranks other than 0) writes nothing.
    explicit Report(const std::string& path);

    bool good() const { return out_.good(); }
    void setup(const Setup& setup);
    /// Reports which pass begins.
    void begin(const Arm& arm, Direction direction, int repeat);
    /// Reports a pass. `repeat` is -1 for the unmeasured pass; `problem` is empty if every byte was
    /// right.
    void sample(const Arm& arm, Direction direction, int repeat, std::uint64_t bytes,
                const Sample& sample, const std::string& problem);

  private:
    std::ofstream out_;
};

}  // namespace bench
