# SPDX-License-Identifier: BSD-3-Clause
"""Calls the measurements in a library of Oratorio, from a process of its own or from the ranks of a job.

usage: child.py LIBRARY WORD...                            the commands of lab/calibrate/commands.hpp
       child.py --ranks [MPI LIBRARY]... -- WORD...        with the first of these MPIs that can be loaded

A rank may run on another node, so this file needs nothing but Python.
"""

from __future__ import annotations

import ctypes
import os
import sys


def call(library: ctypes.CDLL, words: list[str]) -> int:
    """Runs a command of a library and returns its exit code."""
    texts = (ctypes.c_char_p * len(words))(*map(os.fsencode, words))
    return library.oratorio_calibrate(len(words), texts)


def call_in_rank(names: list[str], words: list[str]) -> int:
    """Runs a command between MPI_Init and MPI_Finalize of the first MPI that can be loaded; returns 2 if
    none can. `names` alternates between an MPI's library and Oratorio's library for that MPI."""
    problems = []
    for mpi_name, name in zip(names[::2], names[1::2]):  # noqa: B905  Python 3.9
        try:
            mpi = ctypes.CDLL(mpi_name, ctypes.RTLD_GLOBAL)
        except OSError as error:
            problems.append(str(error))
            continue
        mpi.MPI_Init(None, None)
        code = call(ctypes.CDLL(name), words)
        mpi.MPI_Finalize()
        return code
    why = "; ".join(problems)
    print(f"no MPI library can be loaded ({why}); name the folder of the MPI with --mpi", file=sys.stderr)
    return 2


def main(words: list[str]) -> int:
    """Runs the command line."""
    if words[0] == "--ranks":
        end = words.index("--")
        return call_in_rank(words[1:end], words[end + 1 :])
    return call(ctypes.CDLL(words[0]), words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
