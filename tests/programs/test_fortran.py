# SPDX-License-Identifier: BSD-3-Clause
"""Tests plain Fortran programs with mpif.h, `use mpi` and mpi_f08."""

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_both_ways, run_checked

# With gfortran, the program with mpif.h equals the one with `use mpi`, except for the source of the
# constants.
USE_MPI, USE_F08 = ("-DUSE_MPI",), ("-DUSE_F08",)
PROGRAMS = {
    "mpif": ("fortran_mpif.f90", ()),
    "use_mpi": ("fortran_mpif.f90", USE_MPI),
    "f08": ("fortran_f08.f90", ()),
    "routines_mpif": ("fortran_routines.f90", ()),
    "routines_use_mpi": ("fortran_routines.f90", USE_MPI),
    "routines_f08": ("fortran_routines.f90", USE_F08),
}
BINDINGS = [(), USE_MPI, USE_F08]
BINDING_NAMES = ["mpif", "use_mpi", "f08"]


def compile_plain(host, source, flags):
    """Compiles a program for one of the three bindings, which `flags` choose."""
    if host.mpifort is None:
        pytest.skip(f"{host.name} has no Fortran compiler")
    name = "-".join([source.removesuffix(".f90"), host.name, *(flag.removeprefix("-D") for flag in flags)])
    return compile_for(host.mpifort, HERE / source, name, "-fallow-argument-mismatch", "-cpp", *flags)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_fortran_leaves_the_same_file(name, kind, ranks, tmp_path):
    host = host_or_skip(name)
    run_both_ways(host, ranks, [compile_plain(host, *PROGRAMS[kind])], tmp_path)


# The files are not compared with the host's, because Open MPI 4.1 takes the MPI_BOTTOM of mpi_f08 for a
# buffer.
@pytest.mark.short
@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize("flags", BINDINGS, ids=BINDING_NAMES)
@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_bottom_is_known_from_fortran(name, flags, tmp_path):
    program = compile_plain(host_or_skip(name), "fortran_bottom.f90", flags)
    run_checked(host_or_skip(name), 2, [program, tmp_path], preload=True, timeout_seconds=60)


# Only Oratorio's calls complete requests of accesses. A Fortran call that bypassed Oratorio would wait
# forever.
@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize("flags", BINDINGS, ids=BINDING_NAMES)
@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_each_call_of_fortran_completes_requests(name, flags, tmp_path):
    program = compile_plain(host_or_skip(name), "fortran_requests.f90", flags)
    run_checked(host_or_skip(name), 2, [program, tmp_path], preload=True, timeout_seconds=60)
    assert (tmp_path / "requests.dat").stat().st_size == 2 * 8 * 100000


# The files are compared with known bytes, because the hosts' own MPI-IO has no user-defined data
# representations.
@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("flags", BINDINGS, ids=BINDING_NAMES)
@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_representations_of_fortran_functions_leave_their_bytes(name, flags, ranks, tmp_path):
    host = host_or_skip(name)
    program = compile_plain(host, "fortran_datarep.f90", flags)
    run_checked(host, ranks, [program, tmp_path], preload=True, timeout_seconds=60)
    values = [1000000 * (rank + 1) + i for rank in range(ranks) for i in range(1, 6)]
    assert (tmp_path / "wide").read_bytes() == b"".join(value.to_bytes(8, "big") for value in values)
    assert (tmp_path / "plain").read_bytes() == b"".join(value.to_bytes(4, "little") for value in values)
