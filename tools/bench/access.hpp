// What one rank moves in one collective call, said twice: as MPI datatypes, which the measured
// MPI-IO is given, and as plain pieces, from which the data is filled and checked without MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace bench {

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

/// The parts of the file nobody writes: of every `period` bytes those from `kept` on.
struct Holes {
    std::uint64_t period = 0;  ///< 0: the file has no holes
    std::uint64_t kept = 0;
    std::byte content{0};  ///< what must stay there
};

struct Access {
    MPI_Offset displacement = 0;
    std::size_t buffer_bytes = 0;  ///< the buffer's length, gaps included
    Holes holes;
    std::function<Types()> make_types;
    std::function<void(const PieceVisitor&)> for_each_piece;  ///< in the order of the datatypes
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
    /// The same as a number above zero.
    std::uint64_t number(const std::string& name) const;

  private:
    std::map<std::string, std::string> values_;
};

/// The access of one rank in workload `name`; throws std::invalid_argument on a wrong parameter.
Access make_access(const std::string& name, const Params& params, Place place);

Access make_flash(const Params& params, Place place);
Access make_e3sm(const Params& params, Place place);

}  // namespace bench
