// A representation that the program has registered (MPI-4.1, 14.5.3), and the conversion of an
// access by its functions. They run while the file is locked, and must not throw.
#pragma once

#include <memory>

#include "bind/mpi_types.hpp"
#include "bind/open_file.hpp"
#include "type/conversion.hpp"
#include "type/shape.hpp"
#include "type/signature.hpp"

namespace oratorio::bind {

/// A conversion function of either form, or neither (MPI_CONVERSION_FN_NULL): native data.
struct ConversionFunction {
    MPI_Datarep_conversion_function* plain = nullptr;
    MPI_Datarep_conversion_function_c* large = nullptr;
};

struct UserRepresentation {
    ConversionFunction read;
    ConversionFunction write;
    MPI_Datarep_extent_function* extent = nullptr;
    void* extra_state = nullptr;
};

/// Asks the extent function, once for each predefined datatype as long as the answer lives.
/// ErrorKind::conversion when the function fails or gives no positive extent. `representation`
/// outlives it.
[[nodiscard]] FileSize sizes_in(const UserRepresentation& representation);

/// `memory` is the user's buffer of `type`s, `item` the signature of one of them.
/// `representation` outlives the conversion; `type` needn't.
[[nodiscard]] Result<std::shared_ptr<Conversion>> user_conversion(
    const UserRepresentation& representation, MPI_Datatype type, const Layout& memory,
    const SignaturePtr& item);

}  // namespace oratorio::bind
