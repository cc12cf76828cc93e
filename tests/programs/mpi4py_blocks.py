# SPDX-License-Identifier: BSD-3-Clause
"""Writes a block of a file on each rank, and reads the neighbour's block. usage: mpi4py_blocks.py FILE"""

import sys

from mpi4py import MPI

BYTES = 1000
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(rank * BYTES, bytes([rank]) * BYTES)
file.Sync()
comm.Barrier()
other = (rank + 1) % size
found = bytearray(BYTES)
file.Read_at_all(other * BYTES, found)
assert found == bytes([other]) * BYTES
file.Close()
