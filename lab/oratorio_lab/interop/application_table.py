# SPDX-License-Identifier: BSD-3-Clause
"""The table of applications that `oratorio neighbours` runs. To add one, add a row, and its inputs to the
folder inputs."""

from __future__ import annotations

import os

from oratorio_lab.interop.applications import Application, Step

SYSTEM_PYTHON = "/usr/bin/python3"
ESCRIPT = "/usr/lib/python3-escript-mpi"
PETSC = f"/usr/lib/petscdir/petsc3.18/{os.uname().machine}-linux-gnu-real/lib/python3/dist-packages"
SATURNE = "/usr/lib/code_saturne"
# For applications that write HDF5 files with times in them: if their bytes differ, h5diff compares the data.
IN_HDF5 = {"checker": ("h5diff",), "needs": ("hdf5-tools",)}
BPLS = "bpls.openmpi -d -f %.17g"
SAME_FIELD = f'mine=$({BPLS} "$0" field) && test -n "$mine" && test "$mine" = "$({BPLS} "$1" field)"'

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
        "PETSc", "python3-petsc4py-real", "23 / 85", "a vector and a matrix, through the MPI-IO viewer",
        (Step((SYSTEM_PYTHON, "petsc_vector.py")),),
        inputs=("petsc_vector.py",), env={"PYTHONPATH": PETSC}, unlike=("*.info",),
    ),
    Application(
        "mpi4py-fft", "python3-mpi4py-fft", "1 / 4", "a field and a slice of it, HDF5 through h5py",
        (Step((SYSTEM_PYTHON, "mpi4py_fft_fields.py")),),
        inputs=("mpi4py_fft_fields.py",),
    ),
    Application(
        "Meep", "meep-openmpi", "8 / 61", "fields of a cavity, HDF5",
        (Step(("meep", "meep_cavity.ctl")),),
        inputs=("meep_cavity.ctl",), **IN_HDF5,
    ),
    Application(
        "MPB", "mpb-mpi", "9 / 63", "the dielectric function of a lattice of rods, HDF5",
        (Step(("mpb-mpi", "mpb_rods.ctl")),),
        inputs=("mpb_rods.ctl",), **IN_HDF5,
    ),
    Application(
        "CP2K", "cp2k", "44 / 295", "cubes of hydrogen's density and potential (Fortran)",
        (Step(("cp2k", "-i", "cp2k_h2.inp", "-o", "h2.log")),),
        inputs=("cp2k_h2.inp",), unlike=("*.log", "*.wfn*"),
    ),
    Application(
        "DOLFINx", "python3-dolfinx", "93 / 454", "a mesh and a function, XDMF with HDF5",
        (Step((SYSTEM_PYTHON, "dolfinx_field.py")),),
        inputs=("dolfinx_field.py",), **IN_HDF5,
    ),
    Application(
        "DOLFIN", "python3-dolfin", "78 / 386", "vectors, HDF5, written and read again",
        (Step((SYSTEM_PYTHON, "dolfin_vectors.py")),),
        inputs=("dolfin_vectors.py",), **IN_HDF5,
    ),
    Application(
        "ADIOS 1", "python3-adios", "2 / 13", "steps of a field, with the methods MPI and MPI_AGGREGATE",
        (Step((SYSTEM_PYTHON, "adios_field.py")),),
        inputs=("adios_field.py",), needs=("libadios-bin",),
        unlike=("*.bp.dir/*",), checker=("sh", "-c", SAME_FIELD),
    ),
)  # fmt: skip
