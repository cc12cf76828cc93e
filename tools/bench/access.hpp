// SPDX-License-Identifier: BSD-3-Clause
// What one rank moves in one pass, said twice: as MPI datatypes, which the measured MPI-IO is
// given, and as plain pieces, from which the data is filled and checked without MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "holes.hpp"

namespace bench {

enum class Direction { write, read };

/// Bytes that are contiguous both in the buffer (`memory`) and in the file (`file`).
struct Piece {
    std::size_t memory;
    std::uint64_t file;
    std::size_t bytes;
};
using PieceVisitor = std::function<void(const Piece&)>;

/// The committed types of one access. `etype` is predefined and not freed.
struct Types {
    MPI_Datatype etype;
    MPI_Datatype file;
    MPI_Datatype memory;
};

/// A view, and the calls made with it: each goes on in the file where the one before
/// it ended, and `memory_step` bytes further in memory.
struct Call {
    MPI_Offset displacement = 0;
    std::function<Types()> make_types;
    std::size_t memory = 0;  ///< where in the buffer the first call begins
    std::uint64_t times = 1;
    std::size_t memory_step = 0;
    MPI_Offset from = 0;  ///< bytes of the view before the first call's
};

/// Ranks whose pieces together fill [begin, end) of the file: a row of the process grid.
struct Row {
    std::vector<int> ranks;  ///< of the communicator, this one among them
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    /// The pieces of the i-th of them, as Access::for_each_piece gives them there.
    std::function<void(std::size_t i, const PieceVisitor&)> for_each_piece;
};

struct Access {
    std::size_t buffer_bytes = 0;  ///< the buffer's length, gaps included
    Holes holes;
    std::vector<Call> calls;   ///< as many on every rank
    bool own_file = false;     ///< a read's: of a file made for it, not of what the write left
    bool independent = false;  ///< each rank calls for itself
    std::function<void(const PieceVisitor&)> for_each_piece;  ///< in the order of the datatypes
    Row row;  ///< of workloads with the arm `by_hand`
};

/// Where this rank stands in the communicator.
struct Place {
    int rank;
    int ranks;
};

/// The workload's parameters by name. The defaults are in the Python front end, once.
class Params {
  public:
    void set(const std::string& name, const std::string& value) { values_[name] = value; }
    /// The text of parameter `name`; throws std::invalid_argument when it is missing.
    const std::string& text(const std::string& name) const;
    /// The same as a number of at least `least`.
    std::uint64_t number(const std::string& name, std::uint64_t least = 1) const;

  private:
    std::map<std::string, std::string> values_;
};

/// The access of one rank in workload `name`; throws std::invalid_argument on a wrong parameter.
Access make_access(const std::string& name, const Params& params, Place place, Direction direction);

}  // namespace bench
