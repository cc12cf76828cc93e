# SPDX-License-Identifier: BSD-3-Clause
"""Writes steps of a field with two methods of ADIOS 1, reads them again and checks them."""

import sys

import adios_openmpi as adios
import numpy as np
from mpi4py import MPI

ROWS, COLUMNS, STEPS = 64, 128, 2  # ROWS are those of one rank
METHODS = {"MPI": "", "MPI_AGGREGATE": "num_aggregators=2;num_ost=1"}
WORLD = MPI.COMM_WORLD


def field(step: int) -> np.ndarray:
    """Returns this rank's rows."""
    return 1e6 * step + 1e4 * WORLD.rank + np.arange(ROWS * COLUMNS, dtype=float).reshape(ROWS, COLUMNS)


def main() -> None:
    adios.init_noxml(WORLD)
    for method, parameters in METHODS.items():
        group = adios.declare_group(method, "", adios.FLAG.NO)
        shape, begin = f"{ROWS * WORLD.size},{COLUMNS}", f"{ROWS * WORLD.rank},0"
        adios.define_var(group, "field", "", adios.DATATYPE.double, f"{ROWS},{COLUMNS}", shape, begin)
        adios.select_method(group, method, parameters, "")
        for step in range(STEPS):
            out = adios.open(method, f"{method}.bp", "a" if step else "w", WORLD)
            adios.set_group_size(out, 8 * ROWS * COLUMNS)
            adios.write(out, "field", field(step))
            adios.close(out)
        back = adios.file(f"{method}.bp", comm=WORLD)
        for step in range(STEPS):
            rows = back["field"].read((ROWS * WORLD.rank, 0), (ROWS, COLUMNS), from_steps=step, nsteps=1)
            if not np.array_equal(rows.reshape(ROWS, COLUMNS), field(step)):
                sys.exit(f"ADIOS read other data than it wrote with {method}")
        back.close()
    adios.finalize()


main()
