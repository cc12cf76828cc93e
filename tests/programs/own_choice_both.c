// SPDX-License-Identifier: BSD-3-Clause
/* An empty library that depends on Oratorio's library and on the MPI's. A name that is looked up in
 * it is found in the first of the two that has the name. */
extern int oratorio_and_mpi;
int oratorio_and_mpi = 1;
