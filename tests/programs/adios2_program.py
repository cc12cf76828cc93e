# SPDX-License-Identifier: BSD-3-Clause
"""A program that uses ADIOS2 with one of its engines. usage: adios2_program.py ENGINE FOLDER

Each rank puts its part of an array in two steps, and then gets its neighbour's part.
"""

import sys

import adios2
import numpy as np
from mpi4py import MPI

COUNT, STEPS = 1000, 2
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
engine, folder = sys.argv[1:]
path = f"{folder}/field.{engine.lower()}"


def values(of: int, step: int) -> np.ndarray:
    return np.arange(COUNT) * 0.5 + 1000 * of + 100 * step


def stream(name: str, mode: str) -> adios2.Stream:
    io = adios2.Adios(world).declare_io(name)
    io.set_engine(engine)
    return adios2.Stream(io, path, mode, world)


with stream("writer", "w") as out:
    for step in range(STEPS):
        out.begin_step()
        out.write("field", values(rank, step), [COUNT * ranks], [COUNT * rank], [COUNT])
        out.end_step()
world.Barrier()
other = (rank + 1) % ranks
with stream("reader", "r") as back:
    for step in range(STEPS):
        back.begin_step()
        found = back.read("field", [COUNT * other], [COUNT])
        assert (found == values(other, step)).all(), f"step {step}: rank {other} wrote something else"
        back.end_step()
