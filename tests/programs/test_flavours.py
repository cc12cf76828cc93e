# SPDX-License-Identifier: BSD-3-Clause
"""Tests an MPI for which there is no library: the program keeps its own MPI-IO, and one warning says so."""

import shutil

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

from oratorio.paths import preload_library

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
TOLD = "oratorio: warning: using the MPI's own MPI-IO"


@pytest.mark.short
@pytest.mark.parametrize("name", ["mpich5", "abi", "mpich4", "openmpi5", "openmpi4"])
def test_a_program_with_a_missing_flavour_keeps_its_own_mpi_io(name, tmp_path):
    host = host_or_skip(name)
    alone = shutil.copy(preload_library(), tmp_path)
    program = compile_for(host.mpicc, HERE / "written_block.c", f"written-block-{name}")
    done = run_checked(host, 2, [program, tmp_path], env={"LD_PRELOAD": alone, "ORATORIO_EXPLAIN": "1"})
    assert (tmp_path / "blocks.dat").stat().st_size == 2 * 4000
    assert done.stderr.count(TOLD) == 1, done.stderr
    assert "collective write" not in done.stderr
    silent = run_checked(host, 2, [program, tmp_path], env={"LD_PRELOAD": alone, "ORATORIO_QUIET": "1"})
    assert "oratorio" not in silent.stderr


@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_a_fortran_program_does_too(name, tmp_path):
    host = host_or_skip(name)
    alone = shutil.copy(preload_library(), tmp_path)
    program = compile_for(host.mpifort, HERE / "fortran_f08.f90", f"fortran-f08-{name}")
    done = run_checked(host, 2, [program, tmp_path], env={"LD_PRELOAD": alone})
    assert done.stderr.count(TOLD) == 1, done.stderr
    assert (tmp_path / "f08.dat").stat().st_size == 2 * 24 * 10 * 8


@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_a_profiler_before_it_is_called_once_for_each_call(name, tmp_path):
    host = host_or_skip(name)
    alone = shutil.copy(preload_library(), tmp_path)
    profiler = compile_for(host.mpicc, HERE / "profiler.c", f"profiler-{name}.so", "-shared", "-fPIC")
    program = compile_for(host.mpicc, HERE / "written_block.c", f"written-block-{name}")
    done = run_checked(host, 2, [program, tmp_path], env={"LD_PRELOAD": f"{profiler}:{alone}"})
    assert done.stderr.count("profiler: open\n") == 2, done.stderr
    assert (tmp_path / "blocks.dat").stat().st_size == 2 * 4000
