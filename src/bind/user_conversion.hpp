// SPDX-License-Identifier: BSD-3-Clause
// A representation that the program has registered (MPI-4.1, 14.5.3), and the conversion of an
// access by its functions.
// REQUIRES: the functions don't throw. They run while the file is locked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bind/mpi_types.hpp"
#include "bind/open_file.hpp"
#include "type/conversion.hpp"
#include "type/shape.hpp"
#include "type/signature.hpp"

namespace oratorio::bind {

/// A conversion function of the program, with its extra state. It is empty for native data
/// (MPI_CONVERSION_FN_NULL). It receives the user's buffer, the datatype, the number of items, the
/// file's data, and the number of the first item, and returns an MPI error code. It is never called
/// for more items than fit in an int.
using ConversionFunction = std::function<int(void*, MPI_Datatype, std::int64_t, void*, MPI_Offset)>;

struct UserRepresentation {
    ConversionFunction read;
    ConversionFunction write;
    std::function<int(MPI_Datatype, MPI_Aint*)> extent;
};

/// Returns a function that gets sizes from the representation's extent function, which it calls
/// only once for each predefined datatype. The result fails with ErrorKind::conversion if the
/// extent function fails or returns an extent that isn't positive. `representation` outlives the
/// result.
[[nodiscard]] FileSize sizes_in(const UserRepresentation& representation);

/// Returns the conversion of an access. `memory` is the user's buffer of `type`s, `item` the
/// signature of one of them. `representation` outlives the conversion; `type` needn't.
[[nodiscard]] Result<std::shared_ptr<Conversion>> user_conversion(
    const UserRepresentation& representation, MPI_Datatype type, const Layout& memory,
    const SignaturePtr& item);

}  // namespace oratorio::bind
