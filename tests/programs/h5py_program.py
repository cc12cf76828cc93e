# SPDX-License-Identifier: BSD-3-Clause
"""A parallel h5py program. usage: h5py_program.py FOLDER

Writes contiguous and chunked datasets, collectively and independently, reopens the file and reads it back
on other ranks than those that wrote.
"""

import sys
from pathlib import Path

import h5py
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
ROWS, COLUMNS = 12, 36
LAYOUTS = {"contiguous": None, "chunked": (5, 7)}


def values(row_count: int, seed: int) -> np.ndarray:
    return (np.arange(row_count * COLUMNS, dtype="f8") * 0.5 + seed * 1000).reshape(row_count, COLUMNS)


def write(path: Path) -> None:
    with h5py.File(path, "w", driver="mpio", comm=world) as file:
        file.attrs["ranks"] = ranks
        for name, chunks in LAYOUTS.items():
            group = file.create_group(name)
            shape = (ROWS * ranks, COLUMNS)
            blocks = group.create_dataset("blocks", shape, "f8", chunks=chunks)
            columns = group.create_dataset("columns", shape, "i4", chunks=chunks)
            single = group.create_dataset("independent", shape, "f4", chunks=chunks)
            with blocks.collective:
                blocks[ROWS * rank : ROWS * (rank + 1)] = values(ROWS, rank)
            mine = np.arange(rank, COLUMNS, ranks)
            with columns.collective:
                columns[:, rank::ranks] = np.tile(mine, (ROWS * ranks, 1))
            for row in range(rank, ROWS * ranks, ranks):
                single[row, :] = np.full(COLUMNS, row)


def read(path: Path) -> None:
    other = (rank + 1) % ranks
    with h5py.File(path, "r", driver="mpio", comm=world) as file:
        assert file.attrs["ranks"] == ranks
        for name in LAYOUTS:
            group = file[name]
            blocks, columns, single = group["blocks"], group["columns"], group["independent"]
            with blocks.collective:
                found = blocks[ROWS * other : ROWS * (other + 1)]
            assert (found == values(ROWS, other)).all()
            with columns.collective:
                found = columns[:, other::ranks]
            assert (found == np.arange(other, COLUMNS, ranks)).all()
            found = single[other::ranks, 3:20]
            assert (found == np.arange(other, ROWS * ranks, ranks)[:, None]).all()


path = Path(sys.argv[1]) / "h5py.h5"
write(path)
world.Barrier()
read(path)
