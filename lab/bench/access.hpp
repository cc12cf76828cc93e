// SPDX-License-Identifier: BSD-3-Clause
// Access: the data that one rank moves in one pass, described twice: as MPI datatypes for the
// MPI-IO under test, and as plain pieces, from which the data is filled and checked without MPI.
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

/// The committed types of one Call. `etype` is predefined and not freed.
struct Types {
    MPI_Datatype etype;
    MPI_Datatype file;
    MPI_Datatype memory;
};

/// A view, and `times` calls that use it. Each call continues in the file where the previous one
/// ended, and its memory begins `memory_step` bytes after that of the previous one.
struct Call {
    MPI_Offset displacement = 0;
    std::function<Types()> make_types;
    std::size_t memory = 0;  ///< place in the buffer at which the first call begins
    std::uint64_t times = 1;
    std::size_t memory_step = 0;
    MPI_Offset from = 0;  ///< bytes of the view's data before the data of the first call
};

/// A row of the process grid: its ranks' pieces together fill [begin, end) of the file.
struct Row {
    std::vector<int> ranks;  ///< ranks of the communicator, this one among them
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    /// Visits the pieces of the row's i-th rank, as Access::for_each_piece does on that rank.
    std::function<void(std::size_t i, const PieceVisitor&)> for_each_piece;
};

struct Access {
    std::size_t buffer_bytes = 0;  ///< the buffer's length, gaps included
    Holes holes;
    std::vector<Call> calls;  ///< each rank has the same number of calls
    /// If true, a read uses a file made for it, not the file that the write left.
    bool own_file = false;
    bool independent = false;  ///< each rank makes its calls independently
    /// Visits the pieces in the order of the datatypes.
    std::function<void(const PieceVisitor&)> for_each_piece;
    Row row;  ///< used only by the arm `by_hand`
};

/// The number of this rank in the communicator, and the communicator's size.
struct Place {
    int rank;
    int ranks;
};

/// The parameters of a workload by name. The default values are only in the Python front end.
class Params {
  public:
    void set(const std::string& name, const std::string& value) { values_[name] = value; }
    /// Returns the text of parameter `name`; throws std::invalid_argument if it is missing.
    const std::string& text(const std::string& name) const;
    /// Returns the parameter as a number of at least `least`.
    std::uint64_t number(const std::string& name, std::uint64_t least = 1) const;

  private:
    std::map<std::string, std::string> values_;
};

/// Returns the access of one rank in workload `name`; throws std::invalid_argument on a wrong
/// parameter.
Access make_access(const std::string& name, const Params& params, Place place, Direction direction);

}  // namespace bench
