// SPDX-License-Identifier: BSD-3-Clause
// Seeded random file views of all ranks, and random memory datatypes, which the differential test
// writes and reads through.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi/mapped_type.hpp"
#include "support/random.hpp"

namespace oratorio::test {

struct FileView {
    MPI_Offset displacement = 0;
    MappedType filetype;

    /// Returns the file offsets of the view's data bytes [first, first + bytes), one by one.
    std::vector<MPI_Offset> places(MPI_Offset first, MPI_Offset bytes) const;
    /// Returns the number of data bytes before this offset of the file. REQUIRES: the tiles don't
    /// interleave.
    MPI_Offset data_before(MPI_Offset offset) const;
};

/// The views of all ranks. Every rank makes them all, and so knows what the other ranks access.
struct RandomViews {
    std::string kind;
    std::unique_ptr<MappedType> etype;
    std::vector<FileView> of_rank;
    /// The views of several ranks may overlap each other. Such views are only for reading.
    bool overlapping = false;
    bool interleaving = false;  ///< a tile begins before the previous one has ended
    int etypes = 0;             ///< accesses must stay within this many etypes of the view
};

RandomViews random_views(Random& random, int ranks, MPI_Offset base, bool for_reading);

/// Returns a type of `units` pieces of `unit` in any order, at any places in memory, also before
/// the start of the buffer. The pieces don't overlap, also when the type is repeated.
MappedType random_memory(Random& random, int units, const MappedType& unit);

}  // namespace oratorio::test
