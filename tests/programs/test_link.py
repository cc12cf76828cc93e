# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs linked to Oratorio, which then need no LD_PRELOAD: installed or in the build folder, found
by find_package or pkg-config."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, assert_oratorio_was_used, host_or_skip, run_checked

from oratorio import __version__
from oratorio.launch.hosts import Host
from oratorio.paths import BUILD

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)


def call(*words, **options) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", params=["installed", "build folder"])
def prefix(request, tmp_path_factory) -> Path:
    """Returns the folder where the build systems find Oratorio: the build folder or an installation."""
    if request.param == "build folder":
        return BUILD
    folder = tmp_path_factory.mktemp("prefix")
    call("cmake", "--install", BUILD, "--prefix", folder)
    return folder


def file_below(folder: Path, name: str) -> Path:
    (found,) = (folder / "lib").rglob(name)
    return found


def check_program(host: Host, program: Path, folder: Path) -> None:
    """Checks that the program runs without a preload, and that Oratorio serves its files."""
    done = run_checked(host, 2, [program, folder], env={"ORATORIO_EXPLAIN": "1"})
    assert_oratorio_was_used(done)
    # MPICH 4 programs have a preload of their own, see cli/oratorio/launch/yielding.c.
    assert done.stdout in ("preload none\n", "preload yielding.so\n")
    assert (folder / "blocks.dat").stat().st_size == 2 * 4000


# MPI -> (folder of mpi.h, library), as a build system would find them.
MPI_OF = {
    "mpich4": ("/usr/include/{}/mpich", "libmpich.so"),
    "openmpi4": ("/usr/lib/{}/openmpi/include", "libmpi.so.40"),
}


@pytest.mark.parametrize("name", MPI_OF)
def test_a_cmake_project_finds_the_package(name, prefix, tmp_path):
    host = host_or_skip(name)
    machine = f"{os.uname().machine}-linux-gnu"
    include, library = MPI_OF[name]
    build = tmp_path / "build"
    mpi = [f"-DMPI_INCLUDE={include.format(machine)}", f"-DMPI_LIBRARY=/usr/lib/{machine}/{library}"]
    call("cmake", "-S", HERE / "link", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *mpi)
    call("cmake", "--build", build)
    check_program(host, build / "consumer", tmp_path)


@pytest.mark.parametrize("name", ["mpich5", "mpich4", "openmpi5", "openmpi4"])
def test_pkg_config_tells_how_to_link(name, prefix, tmp_path):
    host = host_or_skip(name)
    environ = {**os.environ, "PKG_CONFIG_PATH": str(file_below(prefix, "oratorio.pc").parent)}
    flags = call("pkg-config", "--cflags", "--libs", "oratorio", env=environ).split()
    program = tmp_path / "consumer"
    call(host.mpicc, "-o", program, HERE / "written_block.c", *flags)
    check_program(host, program, tmp_path)


def test_the_installed_package_tells_its_version(prefix):
    environ = {**os.environ, "PKG_CONFIG_PATH": str(file_below(prefix, "oratorio.pc").parent)}
    version = call("pkg-config", "--modversion", "oratorio", env=environ).strip()
    assert version == __version__
