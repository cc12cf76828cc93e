// SPDX-License-Identifier: BSD-3-Clause
/* An empty library that depends on Oratorio's and on the MPI's, so that a name that is looked up
 * in it is found in the first of them that has it. */
extern int oratorio_and_mpi;
int oratorio_and_mpi = 1;
