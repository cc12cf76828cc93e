# SPDX-License-Identifier: BSD-3-Clause
"""Writes what escript writes with MPI-IO: VTK, CSV and binary grids."""

import mpi4py.MPI  # noqa: F401 -- initializes MPI before escript
from esys.escript import ReducedFunction, grad, interpolate, saveDataCSV, sin
from esys.finley import Brick
from esys.ripley import BYTEORDER_LITTLE_ENDIAN, DATATYPE_FLOAT64, Rectangle
from esys.weipa import saveVTK

brick = Brick(16, 16, 16)
x = brick.getX()
u = sin(x[0]) * x[1] + x[2]
saveVTK("u.vtu", u=u, v=grad(u))
saveDataCSV("u.csv", u=u, x=x)

grid = Rectangle(40, 40, d0=2, d1=2)
w = interpolate(grid.getX()[0] * 3, ReducedFunction(grid))
grid.writeBinaryGrid(w, "w.bin", BYTEORDER_LITTLE_ENDIAN, DATATYPE_FLOAT64)
