// SPDX-License-Identifier: BSD-3-Clause
// Declares what one MPI's header lacks and another's has, so that the table of procedures compiles
// against all of them.
#pragma once

#include "mpi/host.hpp"

#if defined(MPI_ABI)
using MPI_Fint = int;  // the standard ABI has no Fortran handles of files; INTEGER is an int there
#endif

#if defined(OPEN_MPI)
using MPI_Datarep_conversion_function_c = int(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset,
                                              void*);
#endif

#if defined(OPEN_MPI) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000)
using MPIX_File_errhandler_function_x = void(MPI_File, int, void*);
using MPIX_Destructor_function = void(void*);
#endif

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
using MPI_Session = struct ompi_instance_t*;
#endif
