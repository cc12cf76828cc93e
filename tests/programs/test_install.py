# SPDX-License-Identifier: BSD-3-Clause
"""Tests an installed Oratorio: small, movable, usable by any user, and never written to."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip

from oratorio import __version__
from oratorio.launch.hosts import OPENMPI_OPTIONS
from oratorio.paths import BUILD, ROOT

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
SOMEBODY = 65534
LIBRARY_BYTES_MAX = 4 << 20


def call(*words, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """Yields a folder that other users can read; pytest's own folders are closed to them."""
    with tempfile.TemporaryDirectory(prefix="oratorio-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def prefix(open_folder) -> Path:
    """Returns the folder of an Oratorio that was installed and then moved."""
    first = open_folder / "first"
    done = call("cmake", "--install", BUILD, "--prefix", first)
    assert done.returncode == 0, done.stderr
    moved = first.parent / "moved"
    first.rename(moved)
    return moved


def facts(folder: Path) -> dict[str, tuple]:
    """Returns everything that a write would change."""
    found = [folder, *folder.rglob("*")]
    return {
        str(file): (file.lstat().st_mtime_ns, file.lstat().st_size, file.lstat().st_mode) for file in found
    }


def test_everything_people_look_for_is_installed(prefix):
    assert call(prefix / "bin/oratorio", "--version").stdout == f"oratorio {__version__}\n"
    docs = prefix / "share/doc/oratorio"
    for file in (
        "LICENSE",
        "licenses/liburing.txt",
        "CHANGELOG.md",
        "docs/user/hints.md",
        "docs/research/images/suite.png",
    ):
        assert (docs / file).exists(), file
    assert (prefix / "share/man/man1/oratorio.1").exists()
    for file in ("smoke.sh", "smoke.c", "reframe/oratorio.py"):
        assert (prefix / "share/oratorio" / file).exists(), file


def test_libraries_are_stripped(prefix):
    libraries = list(prefix.rglob("liboratorio*.so"))
    assert len(libraries) == 4
    for library in libraries:
        assert library.stat().st_size < LIBRARY_BYTES_MAX
        assert ".debug_" not in call("readelf", "-SW", library).stdout


def test_no_file_names_the_place_it_was_installed_to(prefix):
    first = str(prefix.parent / "first").encode()
    assert [str(file) for file in prefix.rglob("*") if file.is_file() and first in file.read_bytes()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_all_users_run_an_installation_of_root_without_writing_there(name, prefix, open_folder):
    host = host_or_skip(name)
    work = open_folder / name
    work.mkdir()
    work.chmod(0o777)
    program = shutil.copy(compile_for(host.mpicc, HERE / "written_block.c", f"written-block-{name}"), work)
    before = facts(prefix)
    many = ["--oversubscribe"] if host.launcher == "openmpi" else []
    words = [prefix / "bin/oratorio", "explain", host.mpiexec, *many, "-n", "2", program, work]
    home = {"HOME": str(work), "PATH": "/usr/bin:/bin"}
    done = call("timeout", "60", *words, user=SOMEBODY, group=SOMEBODY, extra_groups=[], env=home, cwd=work)
    assert done.returncode == 0, done.stderr
    assert "blocks.dat: collective write" in done.stderr
    assert (work / "blocks.dat").stat().st_uid == SOMEBODY
    assert facts(prefix) == before


@pytest.mark.parametrize("name", ["mpich4", "openmpi4"])
def test_its_smoke_test_tells_whether_programs_use_it(name, prefix):
    host = host_or_skip(name)
    options = OPENMPI_OPTIONS if host.launcher == "openmpi" else ()
    words = [prefix / "share/oratorio/smoke.sh", prefix / "bin/oratorio", host.mpicc, host.mpiexec, *options]
    done = call("timeout", "60", *words, "-n", "2")
    assert (done.returncode, done.stdout) == (0, "smoke.sh: the program wrote and read through Oratorio\n")
    off = call("timeout", "60", *words, "-n", "2", env={**os.environ, "ORATORIO_DISABLE": "1"})
    assert off.returncode == 1
    assert "the program ran, but not through Oratorio" in off.stdout


def test_a_method_that_does_not_exist_is_refused_without_a_checkout(prefix):
    done = call(prefix / "bin/oratorio", "run", "--method", "tow_phase", "true")
    assert done.returncode == 2
    assert "Did you mean two_phase?" in done.stderr
    done = call(prefix / "bin/oratorio", "bench")
    assert done.returncode == 2 and "bench needs a checkout of Oratorio and a compiler" in done.stderr
    done = call(prefix / "bin/oratorio", "no-such-command")
    assert done.returncode == 2 and "no such command here" in done.stderr


def test_methods_and_traces_are_shown_without_a_checkout(prefix, tmp_path):
    done = call(prefix / "bin/oratorio", "methods")
    assert done.returncode == 0 and "two_phase" in done.stdout
    done = call(prefix / "bin/oratorio", "trace", tmp_path / "none.json")
    assert done.returncode == 2 and "none.json" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("option", "flavour"), [("ORATORIO_MPICH_ROOT", "mpich"), ("ORATORIO_OPENMPI_ROOT", "ompi")]
)
def test_a_missing_mpi_is_an_error_that_names_its_option(option, flavour, tmp_path):
    words = ["cmake", "-S", ROOT, "-B", tmp_path / "b", "-G", "Ninja", "-DORATORIO_TESTS=OFF"]
    done = call(*words, f"-D{option}=/nowhere", f"-DORATORIO_FLAVOURS={flavour}")
    assert done.returncode != 0
    told = " ".join(done.stderr.split())
    assert f"oratorio-{flavour} needs /nowhere/include/mpi.h" in told
    assert f"-D{option}=FOLDER" in told and "-DORATORIO_FLAVOURS" in told
