// SPDX-License-Identifier: BSD-3-Clause
// Names that ROMIO's tests use, for an mpi.h without them: MPI_LB and MPI_UB, which MPI-3 removed,
// and ROMIO's own names of requests.
#ifndef ORATORIO_MPI1_NAMES_H
#define ORATORIO_MPI1_NAMES_H

#include <mpi.h>

#ifndef MPI_LB
#define MPI_LB MPI_DATATYPE_NULL
#define MPI_UB MPI_DATATYPE_NULL

// The markers of a structure {MPI_LB, one type, MPI_UB} become the bounds of a resized type
// (MPI-4.1, 17.1).
static inline int struct_with_markers(int count, const int* lengths, const MPI_Aint* displacements,
                                      const MPI_Datatype* types, MPI_Datatype* made) {
    if (count != 3 || types[0] != MPI_LB || types[2] != MPI_UB)
        return MPI_Type_create_struct(count, lengths, displacements, types, made);
    MPI_Datatype inner;
    int code = MPI_Type_create_struct(1, lengths + 1, displacements + 1, types + 1, &inner);
    if (code != MPI_SUCCESS) return code;
    const MPI_Aint extent = displacements[2] - displacements[0];
    code = MPI_Type_create_resized(inner, displacements[0], extent, made);
    MPI_Type_free(&inner);
    return code;
}
#define MPI_Type_create_struct struct_with_markers
#endif

#define MPIO_USES_MPI_REQUEST 1
#define MPIO_Request MPI_Request

#endif
