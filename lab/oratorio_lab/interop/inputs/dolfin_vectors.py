# SPDX-License-Identifier: BSD-3-Clause
"""Writes vectors with DOLFIN, as HDF5, reads one again and checks it. A mesh would differ from run to run
because SCOTCH divides it."""

import sys

import dolfin
import numpy as np

LENGTH = 20_000

comm = dolfin.MPI.comm_world
vector = dolfin.PETScVector(comm, LENGTH)
vector.set_local(0.5 * np.arange(*vector.local_range()))
vector.apply("insert")
with dolfin.HDF5File(comm, "vectors.h5", "w") as file:
    file.write(vector, "/first")
    vector *= 3
    file.write(vector, "/second")
again = dolfin.PETScVector(comm)
with dolfin.HDF5File(comm, "vectors.h5", "r") as file:
    file.read(again, "/second", True)
if not np.array_equal(again.get_local(), vector.get_local()):
    sys.exit("DOLFIN read other data than it wrote")
