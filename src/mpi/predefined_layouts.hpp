// SPDX-License-Identifier: BSD-3-Clause
// The layouts of predefined datatypes that were decoded before. Such datatypes are never freed, so
// neither are their layouts. Thread-safe.
#pragma once

#include "mpi/decode.hpp"

namespace oratorio {

/// Returns the layout of a predefined datatype; null for a datatype that keep_predefined() has not
/// kept. Takes no lock, and doesn't ask the host.
[[nodiscard]] const DecodedType* find_predefined(MPI_Datatype type);

/// Keeps the layout of a predefined datatype, unless there is no room for it. There is room for all
/// datatypes of the standard; MPI_Type_create_f90_real and similar calls make more. Throws
/// std::bad_alloc.
void keep_predefined(MPI_Datatype type, const DecodedType& layout);

}  // namespace oratorio
