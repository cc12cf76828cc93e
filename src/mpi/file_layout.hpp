// SPDX-License-Identifier: BSD-3-Clause
// The layout of a datatype in a file with a representation that isn't native (MPI-4.1, 14.5.1): as
// if the same calls had made the type on a machine with the file's sizes and no alignment.
// Displacements that are counted in types scale with them; displacements in bytes stay.
#pragma once

#include "mpi/decode.hpp"

namespace oratorio {

/// Returns size, bounds and shape in the file. Bounds follow the markers of resized types and
/// arrays (MPI-4.1, 5.1.6 and 5.1.7). The result isn't kept on the datatype. Returns errors of
/// `size` and of decoding.
[[nodiscard]] Result<DecodedType> file_layout(MPI_Datatype type, const FileSize& size);

}  // namespace oratorio
