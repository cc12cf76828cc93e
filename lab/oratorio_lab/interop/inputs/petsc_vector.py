# SPDX-License-Identifier: BSD-3-Clause
"""Writes a vector and a matrix with PETSc's MPI-IO viewer, reads them again and checks them."""

import sys

from petsc4py import PETSc

LENGTH = 100_000


def main() -> None:
    vector = PETSc.Vec().createMPI(LENGTH)
    first, last = vector.getOwnershipRange()
    for place in range(first, last):
        vector[place] = 0.5 * place
    vector.assemble()
    matrix = PETSc.Mat().createAIJ((LENGTH, LENGTH), nnz=1)
    for place in range(first, last):
        matrix[place, place] = place
    matrix.assemble()
    out = PETSc.Viewer().createMPIIO("petsc.bin", "w")
    vector.view(out)
    matrix.view(out)
    out.destroy()
    back = PETSc.Viewer().createMPIIO("petsc.bin", "r")
    again, same = PETSc.Vec().load(back), PETSc.Mat().load(back)
    if not again.equal(vector) or not same.equal(matrix):
        sys.exit("PETSc read other data than it wrote")


main()
