// SPDX-License-Identifier: BSD-3-Clause
// Data representations by name (MPI-4.1, 14.5): native and internal are memory's own, external32,
// and those that the program has registered in this process. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "bind/process.hpp"
#include "bind/user_conversion.hpp"
#include "type/conversion.hpp"

namespace oratorio::bind {

/// MPI_Register_datarep, whatever language its functions are of; the code for the program.
int register_representation(const char* name, const UserRepresentation& representation);

[[nodiscard]] bool representation_known(const std::string& name);

/// The layout of a datatype in a file. A registered representation's extent function is asked once
/// for each predefined datatype in it; when that fails: ErrorKind::conversion. So is a datatype
/// that external32 has no form for.
[[nodiscard]] Result<DecodedType> decode_in_file(const std::string& representation,
                                                 MPI_Datatype type);

/// How `count` of `type` are converted; null for native data. The datatype may be freed while the
/// conversion lives. ErrorKind::conversion as above, ErrorKind::count for more data than can be
/// counted.
[[nodiscard]] Result<std::shared_ptr<Conversion>> conversion_for(const std::string& representation,
                                                                 MPI_Datatype type,
                                                                 MPI_Count count);

}  // namespace oratorio::bind
