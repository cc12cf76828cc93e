# SPDX-License-Identifier: BSD-3-Clause
"""Writes checkpoints as a simulation does, and reads one field of the last one back. Each rank has a block of
a grid, and all ranks together write one field after the other into a file.

usage: mpiexec -n 8 python checkpoint.py FOLDER CELLS STEPS

CELLS is the edge of a rank's block. The file of a step is FOLDER/checkpoint-STEP.dat.
"""

import sys
from array import array

from mpi4py import MPI

FIELDS = 6
DOUBLE = MPI.DOUBLE.Get_size()


def values(rank: int, cells: int, step: int, field: int) -> array:
    """Returns a rank's block of one field in one step. Each cell of each block has a value of its own."""
    first = ((step * FIELDS + field) * MPI.COMM_WORLD.size + rank) * cells**3
    return array("d", range(first, first + cells**3))


def view_of(cells: int) -> MPI.Datatype:
    """Returns a datatype that selects this rank's block of the whole grid."""
    places = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 3))
    whole = [place * cells for place in places.dims]
    begin = [place * cells for place in places.coords]
    return MPI.DOUBLE.Create_subarray(whole, [cells] * 3, begin).Commit()


def main(folder: str, cells: int, steps: int) -> None:
    """Runs the program in each rank. Raises AssertionError if a rank reads other bytes than it wrote."""
    world, view = MPI.COMM_WORLD, view_of(cells)
    field_bytes = world.size * cells**3 * DOUBLE
    for step in range(steps):
        name = f"{folder}/checkpoint-{step}.dat"
        file = MPI.File.Open(world, name, MPI.MODE_CREATE | MPI.MODE_RDWR)
        for field in range(FIELDS):
            file.Set_view(field * field_bytes, MPI.DOUBLE, view)
            file.Write_all(values(world.rank, cells, step, field))
        if step == steps - 1:
            found = array("d", bytes(cells**3 * DOUBLE))
            file.Set_view(0, MPI.DOUBLE, view)
            file.Read_all(found)
            assert found == values(world.rank, cells, step, 0), (
                f"rank {world.rank} read other bytes than it wrote"
            )
        file.Close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
