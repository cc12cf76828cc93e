# SPDX-License-Identifier: BSD-3-Clause
"""The table of applications that `oratorio neighbours` runs. A new application is a row here, with its inputs
in the folder inputs."""

from __future__ import annotations

import os

from oratorio_lab.interop.applications import Application, Step

SYSTEM_PYTHON = "/usr/bin/python3"
ESCRIPT = "/usr/lib/python3-escript-mpi"
PETSC = f"/usr/lib/petscdir/petsc3.18/{os.uname().machine}-linux-gnu-real/lib/python3/dist-packages"
SATURNE = "/usr/lib/code_saturne"

APPLICATIONS = (
    Application(
        "LAMMPS", "lammps", "14 / 73", "dumps of atoms, restart files, and a second run from one",
        (Step(("lmp", "-in", "lammps.in")), Step(("lmp", "-in", "lammps_again.in"))),
        inputs=("lammps.in", "lammps_again.in"), unlike=("log.*",), is_quick=True,
    ),
    Application(
        "PnetCDF's tools", "pnetcdf-bin", "0.4 / 4", "ncmpigen, then ncmpidiff",
        (
            Step(("ncmpigen", "-v", "5", "-o", "a.nc", "pnetcdf.cdl"), ranks=1),
            Step(("ncmpidiff", "a.nc", "a.nc")),
        ),
        inputs=("pnetcdf.cdl",), is_quick=True,
    ),
    Application(
        "escript", "python3-escript-mpi", "4 / 20", "VTK, CSV and binary grids",
        (Step((SYSTEM_PYTHON, "escript_fields.py")),),
        inputs=("escript_fields.py",), is_quick=True,
        env={"PYTHONPATH": ESCRIPT, "LD_LIBRARY_PATH": f"{ESCRIPT}/lib"},
    ),
    Application(
        "Code_Saturne", "code-saturne-bin", "32 / 198", "quality of a mesh of 1728 cells, EnSight files",
        (Step((f"{SATURNE}/cs_solver", "--mpi", "-q")),),
        inputs=("code_saturne_box.py",), is_quick=True,
        before=(
            ("sh", "-c", f"{SYSTEM_PYTHON} code_saturne_box.py 12 > box.msh"),
            (f"{SATURNE}/cs_preprocess", "box.msh", "-o", "mesh_input"),
        ),
        unlike=("*.log", "timer_stats.csv"),
    ),
    Application(
        "ABINIT", "abinit", "30 / 175", "wave functions, density and potentials of hydrogen (Fortran)",
        (Step(("abinit", "abinit_h2.abi")),),
        inputs=("abinit_h2.abi", "h.pspgth"), unlike=("*.abo*", "*_DDB"), is_quick=True,
    ),
    Application(
        "PETSc", "python3-petsc4py-real", "23 / 85", "a vector and a matrix, by the MPI-IO viewer",
        (Step((SYSTEM_PYTHON, "petsc_vector.py")),),
        inputs=("petsc_vector.py",), env={"PYTHONPATH": PETSC}, unlike=("*.info",),
    ),
    Application(
        "mpi4py-fft", "python3-mpi4py-fft", "0.1 / 0.5", "a field and a slice of it, HDF5 by h5py",
        (Step((SYSTEM_PYTHON, "mpi4py_fft_fields.py")),),
        inputs=("mpi4py_fft_fields.py",),
    ),
)  # fmt: skip
