# SPDX-License-Identifier: BSD-3-Clause
"""Tests 64-bit ARM. Debian's cross compiler makes the libraries and some of their tests; Debian's emulator
runs them, also as ranks of an MPI (cmake/aarch64.cmake)."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import HERE, host_or_skip, saying_into
from portable import link_all_of_the_c_plus_plus_library, require_only_glibc_2_28

from oratorio_dev import aarch64
from oratorio_lab.suites.sources import SourceError

# Tests of code that depends on the processor: its instructions, byte order, memory order and sizes. Tests
# that take minutes in the emulator are left out.
PROGRAMS = ["comm_doorbell", "comm_shared_segment", "net_served_counter", "type_kernels", "type_external32"]
PROGRAMS += ["type_run_table", "type_shape_codec"]
TESTS = 58  # number of tests in all these programs; none is skipped
LIBRARIES = ("oratorio", "oratorio-mpich")
COMPILERS = f"{aarch64.PLACE}/usr/bin/aarch64-linux-gnu-{{}}-12"
RANKS, ROW, ROWS = 2, 1000, 400  # ROW and ROWS have the values of many_writes.c
# Compilers and the emulator run at low priority, because the polling ranks of other tests wait much longer
# if a busy process shares their cores.
GENTLY = ("nice", "-n", "10")
# QEMU does not know process_vm_readv, which MPICH uses for long messages without a check.
WITHOUT_READV = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}


def checked(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    libraries = f"{aarch64.PLACE}/usr/lib/x86_64-linux-gnu:" if aarch64.PLACE else ""
    env = os.environ | {"LD_LIBRARY_PATH": libraries + os.environ.get("LD_LIBRARY_PATH", "")} | variables
    done = subprocess.run([*GENTLY, *map(str, words)], capture_output=True, text=True, env=env, timeout=800)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done


@pytest.fixture(scope="module")
def build() -> Path:
    """Returns a build folder with everything that these tests need, compiled without optimisation."""
    missing = aarch64.missing_packages(aarch64.COMPILER_FILES | aarch64.TEST_FILES)
    if missing:
        pytest.skip(f"no cross compiler or emulator for aarch64: apt-get install {' '.join(missing)}")
    folder = aarch64.HOME / "build"
    try:
        aarch64.configure(folder, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0")
    except SourceError as error:
        pytest.skip(str(error))
    targets = [f"unit_{name}_test" for name in PROGRAMS] + [f"{name}-portable" for name in LIBRARIES]
    checked("ninja", "-C", folder, *targets)
    return folder


@pytest.fixture(scope="module")
def program(build, tmp_path_factory):
    """Returns a function that compiles a program for MPICH and returns the words that run it; its options
    are the emulator's."""

    def compiled(name: str, *emulator_options: str) -> list[str]:
        mpich, made = aarch64.mpi("mpich"), tmp_path_factory.mktemp(name) / name
        links = [f"-L{mpich / 'lib'}", "-l:libmpi.so.12", f"-Wl,-rpath-link,{mpich / 'lib/mpich'}"]
        checked(COMPILERS.format("gcc"), HERE / f"{name}.c", f"-I{mpich / 'include'}", *links, "-o", made)
        found = f"LD_LIBRARY_PATH={mpich / 'lib'}"
        return [*aarch64.EMULATOR, "-E", found, *emulator_options, str(made)]

    return compiled


def test_the_rooms_work(build):
    run = 0
    for name in PROGRAMS:
        told = checked(*aarch64.EMULATOR, build / f"tests/unit_{name}_test").stdout
        run += int(re.search(r"\[  PASSED  \] (\d+) test", told)[1])
    assert run == TESTS


def test_the_libraries_need_glibc_2_28_and_no_c_plus_plus_library(build, tmp_path):
    for name in LIBRARIES:
        require_only_glibc_2_28(build / f"portable/lib{name}.so", aarch64.MACHINE)
    link_all_of_the_c_plus_plus_library(COMPILERS, aarch64.MACHINE, build / "portable/stubs", tmp_path)


@pytest.mark.parametrize("kind", ["alone", "together"])
def test_ranks_of_an_mpi_write_with_it(build, program, kind, tmp_path):
    host = host_or_skip("mpich5")
    preload = ["-E", f"LD_PRELOAD={build / 'portable/liboratorio.so'}", "-E", "ORATORIO_EXPLAIN=1"]
    words = [*program("many_writes", *preload), str(tmp_path), "2", *([kind] if kind == "alone" else [])]
    words = saying_into(tmp_path, *words)
    checked(host.mpiexec, "-n", str(RANKS), *words, **host.env, **WITHOUT_READV)
    expected = b"".join(bytes([1 + rank]) * ROW for rank in range(RANKS))
    assert (tmp_path / "rows.dat").read_bytes() == expected * ROWS
    told = (tmp_path / "said.0").read_text()
    assert f"rows.dat: {'collective' if kind == 'together' else 'independent'} write" in told
    assert "Oratorio" in told
