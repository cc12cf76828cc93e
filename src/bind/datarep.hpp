// SPDX-License-Identifier: BSD-3-Clause
// Data representations by name (MPI-4.1, 14.5): native and internal (the same as in memory),
// external32, and those that the program has registered in this process. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bind/process.hpp"
#include "bind/user_conversion.hpp"
#include "type/conversion.hpp"

namespace oratorio::bind {

/// Implements MPI_Register_datarep for the functions of any language. Returns the code for the
/// program.
int register_representation(const char* name, const UserRepresentation& representation);

/// Returns true if data in the file is the same as in memory.
[[nodiscard]] inline bool is_native(std::string_view representation) {
    return representation == "native" || representation == "internal";
}
[[nodiscard]] bool representation_known(const std::string& name);

/// Returns the layout of a datatype in a file. Calls a registered representation's extent function
/// once for each predefined datatype in it. Returns ErrorKind::conversion if that function fails,
/// or if external32 has no form for the datatype.
[[nodiscard]] Result<DecodedType> decode_in_file(const std::string& representation,
                                                 MPI_Datatype type);

/// Returns the conversion of `count` items of `type`. The datatype may be freed while the
/// conversion lives. Returns ErrorKind::conversion for the reasons of decode_in_file(), and
/// ErrorKind::count for more data than can be counted. REQUIRES: the representation isn't native.
[[nodiscard]] Result<std::shared_ptr<Conversion>> conversion_for(const std::string& representation,
                                                                 MPI_Datatype type,
                                                                 MPI_Count count);

}  // namespace oratorio::bind
