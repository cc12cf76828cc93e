// SPDX-License-Identifier: BSD-3-Clause
// Elements: the predefined datatypes and their external32 forms (MPI-4.1, table 14.2 and 19.1.9).
// One row per datatype in elements.def.
#pragma once

#include <cstdint>

#include "mpi/host.hpp"
#include "type/signature.hpp"

namespace oratorio {

/// Returns the one or two elements of a predefined datatype (MPI_Type_create_f90_* included).
/// The pair types of MINLOC, with a name or without, count as two elements, as in the struct that
/// defines them (MPI-4.1, 6.9.4). A type without an external32 form in the standard is one element
/// without a form.
[[nodiscard]] Result<SignaturePtr> predefined_signature(MPI_Datatype type);

/// Returns the name of a predefined datatype: its handle, a number or a pointer, which stays valid
/// because predefined datatypes live as long as MPI.
[[nodiscard]] inline std::uintptr_t name_of(MPI_Datatype type) {
    return (std::uintptr_t)type;
}
[[nodiscard]] inline MPI_Datatype type_named(std::uintptr_t name) {
    static_assert(sizeof(MPI_Datatype) <= sizeof name);
    return (MPI_Datatype)name;
}

}  // namespace oratorio
