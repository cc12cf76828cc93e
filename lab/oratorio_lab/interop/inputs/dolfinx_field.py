# SPDX-License-Identifier: BSD-3-Clause
"""Writes a mesh and a function with DOLFINx, as XDMF with HDF5."""

import numpy as np
from dolfinx import fem, graph, io, mesh
from mpi4py import MPI


def in_parts(comm, parts, dimension, cells, ghosts):
    """Gives each rank a part of the cells in their order. The default, SCOTCH, divides them differently in
    each run."""
    count = cells.num_nodes
    ranks = np.arange(count, dtype=np.int32) * parts // max(count, 1)
    return graph.create_adjacencylist(ranks.astype(np.int32).reshape(-1, 1))


cube = mesh.create_unit_cube(MPI.COMM_WORLD, 8, 8, 8, partitioner=in_parts)
function = fem.Function(fem.FunctionSpace(cube, ("CG", 1)))
function.interpolate(lambda x: x[0] + 2 * x[1] * x[2])
with io.XDMFFile(cube.comm, "field.xdmf", "w") as file:
    file.write_mesh(cube)
    file.write_function(function)
