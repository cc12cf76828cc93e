# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads distributed fields with mpi4py-fft's HDF5File."""

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, HDF5File, newDistArray

fft = PFFT(MPI.COMM_WORLD, (32, 32, 32), dtype=np.float64)
field = newDistArray(fft, False)
field[:] = np.arange(field.size).reshape(field.shape) + 1e6 * MPI.COMM_WORLD.rank
HDF5File("fields.h5", mode="w").write(0, {"u": [field, (field, [slice(None), 4, slice(None)])]})
again = newDistArray(fft, False)
HDF5File("fields.h5", mode="r").read(again, "u", step=0)
assert np.array_equal(field, again), "mpi4py-fft read other data than it wrote"
