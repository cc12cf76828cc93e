# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the wheel is small, needs no newer glibc than 2.28 and no network, and that nothing is written
to the folder in which it is installed."""

import ctypes
import errno
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, host_or_skip
from portable import call, link_all_of_the_c_plus_plus_library, require_only_glibc_2_28

from oratorio import __version__
from oratorio.errors import OratorioError
from oratorio.paths import BUILD, ROOT
from oratorio_dev import wheel as making

sys.path.insert(0, str(ROOT / "dev/release"))
import backend
import pack

PORTABLE = BUILD / "portable"
WHEEL_BYTES_MAX = 6 << 20
MACHINE = os.uname().machine
TAG = pack.portable_tag(MACHINE)
pytestmark = [
    pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT),
    pytest.mark.skipif(MACHINE not in pack.MACHINES, reason="no wheels are made for this processor"),
]


@pytest.fixture(autouse=True)
def _only_what_is_installed(monkeypatch):
    """Hides the checkout's own modules, which the test command has in PYTHONPATH, from installed commands."""
    monkeypatch.delenv("PYTHONPATH", raising=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Returns the wheel. Its libraries are linked again if they are older than their sources."""
    call("cmake", "--build", BUILD, "--target", "portable")
    return pack.write_wheel(PORTABLE, tmp_path_factory.mktemp("wheel"), TAG)


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """Returns a virtual environment with only the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    call("/usr/bin/python3", "-m", "venv", folder)
    call(folder / "bin/pip", "install", "--no-index", "--disable-pip-version-check", wheel)
    return folder


def libraries(folder: Path) -> list[Path]:
    return sorted(folder.glob("lib/python*/site-packages/oratorio/lib/*.so"))


def test_it_is_small_and_named_for_glibc_2_28(wheel):
    assert wheel.name == f"oratorio-{__version__}-py3-none-manylinux_2_28_{MACHINE}.whl"
    assert wheel.stat().st_size <= WHEEL_BYTES_MAX


def test_another_processor_than_arm_is_refused(tmp_path):
    with pytest.raises(OratorioError, match="a wheel for riscv64 can only be built"):
        making.make(tmp_path, "riscv64")


def test_auditwheel_agrees(wheel):
    told = " ".join(call(sys.executable, "-m", "auditwheel", "show", wheel).stdout.split())
    assert f'is consistent with the following platform tag: "manylinux_2_28_{MACHINE}"' in told


def test_the_same_content_is_the_same_file(wheel, tmp_path):
    assert pack.write_wheel(PORTABLE, tmp_path, TAG).read_bytes() == wheel.read_bytes()


def test_no_library_needs_a_newer_glibc_or_a_c_plus_plus_library(environment):
    found = libraries(environment)
    assert [library.name for library in found] == sorted(pack.LIBRARIES)
    for library in found:
        require_only_glibc_2_28(library, MACHINE)


def test_functions_that_an_older_glibc_lacks_work(wheel, tmp_path):
    names = ("libc.so.6", "libpthread.so.0", "libdl.so.2")
    links = ["-nodefaultlibs", f"-L{PORTABLE / 'stubs'}", *(f"-l:{name}" for name in names)]
    made = tmp_path / "older.so"
    call("cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", made, HERE / "older_glibc.c", *links)
    older = ctypes.CDLL(str(made))
    # The last four waits take 1.2 s together, so that one of them passes the end of a second.
    for nanoseconds in (-1_500_000_000, -1, 1, 300_000_000, 300_000_000, 300_000_000, 300_000_000):
        assert older.wait_for(ctypes.c_long(nanoseconds)) == errno.ETIMEDOUT
    assert older.size_by_path(str(HERE / "older_glibc.c").encode()) == (HERE / "older_glibc.c").stat().st_size
    with (HERE / "older_glibc.c").open() as file:
        assert older.size_by_descriptor(file.fileno()) == (HERE / "older_glibc.c").stat().st_size
    assert older.size_by_path(b"/nowhere") == -1
    assert len({older.random_number() for _ in range(8)}) > 1


def test_all_of_the_c_plus_plus_library_can_be_linked(wheel, tmp_path):
    """Links the whole C++ library: code that uses other parts of it must find nothing missing in an older
    glibc."""
    link_all_of_the_c_plus_plus_library("{}", MACHINE, PORTABLE / "stubs", tmp_path)


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_a_python_program_runs_with_it_and_nothing_is_written_there(name, environment, tmp_path):
    host = host_or_skip(name)
    before = {file: file.stat().st_mtime_ns for file in environment.rglob("*")}
    many = ["--oversubscribe", "--allow-run-as-root"] if host.launcher == "openmpi" else []
    program = [host.python, HERE / "mpi4py_blocks.py", tmp_path / "blocks.dat"]
    words = [environment / "bin/oratorio", "explain", host.mpiexec, *many, "-n", "4", *program]
    done = call("timeout", "120", *words, env={**os.environ, **host.env}, cwd=tmp_path)
    assert "blocks.dat: collective write" in done.stderr, done.stderr
    assert f"Oratorio {__version__} saw" in done.stderr
    assert (tmp_path / "blocks.dat").read_bytes() == b"".join(bytes([rank]) * 1000 for rank in range(4))
    assert {file: file.stat().st_mtime_ns for file in environment.rglob("*")} == before


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_the_installed_command_calibrates_without_a_compiler(name, environment, tmp_path):
    host = host_or_skip(name)
    compiler = tmp_path / "bin/cc"
    compiler.parent.mkdir()
    compiler.write_text(f"#!/bin/sh\ntouch {tmp_path}/compiled\nexit 1\n")
    compiler.chmod(0o755)
    for other in ("c++", "gcc", "g++", "mpicc", "mpicxx"):
        (compiler.parent / other).symlink_to(compiler)
    env = {"PATH": f"{compiler.parent}:/usr/bin:/bin", "HOME": str(tmp_path), **host.env}
    many = ["--oversubscribe", "--allow-run-as-root"] if host.launcher == "openmpi" else []
    command = [environment / "bin/oratorio", "calibrate", "--dir", tmp_path]
    done = call("timeout", "300", *command, "--quick", host.mpiexec, *many, "-n", "2", env=env, cwd=tmp_path)
    (file,) = (tmp_path / ".cache/oratorio").iterdir()
    measured = {line.split()[0] for line in file.read_text().splitlines()}
    assert {"write_call", "wake", "message", "message_byte", "message_piece"} <= measured, done.stderr
    assert str(file) in call(*command, "--show", env=env).stdout
    assert not (tmp_path / "compiled").exists()


@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_the_installed_demo_writes_the_same_files_with_and_without_oratorio(name, environment, tmp_path):
    host = host_or_skip(name)
    many = ["--oversubscribe", "--allow-run-as-root"] if host.launcher == "openmpi" else []
    command = [environment / "bin/oratorio", "demo", "--dir", tmp_path, "--cells", "8", "--steps", "2"]
    words = ["--python", host.python, host.mpiexec, *many, "-n", "4"]
    done = call("timeout", "200", *command, *words, env={**os.environ, **host.env}, cwd=tmp_path)
    assert "Equal byte for byte after all runs: 2 output files." in done.stdout, done.stderr
    assert not list(tmp_path.iterdir())


def test_the_installed_demo_says_that_it_needs_mpi4py(environment, tmp_path):
    bare = subprocess.run(
        [environment / "bin/oratorio", "demo", "true"], capture_output=True, text=True, cwd=tmp_path
    )
    assert bare.returncode == 2
    assert re.fullmatch(r"oratorio: the demo needs mpi4py, which .* doesn't have: .*\n", bare.stderr)


# Shell -> what prints the completions of `oratorio expl` and of `oratorio run --method=data_s`. Outside of a
# terminal zsh has no compdef and compadd, so functions replace them.
COMPLETES = {
    "bash": """eval "$(oratorio completion bash)"
        COMP_WORDS=(oratorio expl) COMP_CWORD=1; _oratorio; echo "${COMPREPLY[@]}"
        COMP_WORDS=(oratorio run --method = data_s) COMP_CWORD=4; _oratorio; echo "${COMPREPLY[@]}" """,
    "zsh": """compdef() { :; }; compadd() { print -r -- ${@[$@[(i)--]+1,-1]}; }
        eval "$(oratorio completion zsh)"
        words=(oratorio expl) CURRENT=2; _oratorio
        words=(oratorio run --method=data_s) CURRENT=3; _oratorio""",
    "fish": """oratorio completion fish | source
        complete -C 'oratorio expl'; complete -C 'oratorio run --method=data_s'""",
}


@pytest.mark.parametrize("shell", COMPLETES)
def test_shells_complete_the_installed_command(shell, environment, tmp_path):
    found = shutil.which(shell) or pytest.skip(f"{shell} isn't installed")
    env = {"PATH": f"{environment / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    told = call("timeout", "60", found, "-c", COMPLETES[shell], env=env, cwd=tmp_path).stdout
    words = [word.removeprefix("--method=") for word in told.split()]
    assert words == ["explain", "data_shipping"], told


def test_uninstalling_leaves_nothing_behind(wheel, tmp_path):
    call("/usr/bin/python3", "-m", "venv", tmp_path)
    before = {str(file) for file in tmp_path.rglob("*") if "__pycache__" not in str(file)}
    pip = [tmp_path / "bin/pip", "--disable-pip-version-check"]
    call(*pip, "install", "--no-index", wheel)
    call(tmp_path / "bin/oratorio", "env")
    call(*pip, "uninstall", "-y", "oratorio")
    left = {str(file) for file in tmp_path.rglob("*") if "__pycache__" not in str(file)} - before
    assert {name for name in left if "oratorio" in name} == set()


def test_the_archive_of_the_sources_has_what_a_build_needs(tmp_path):
    with tarfile.open(tmp_path / backend.build_sdist(tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = call("git", "ls-files", "src", "cmake", "dev/release", "cli/oratorio", cwd=ROOT).stdout.split()
    assert {"PKG-INFO", "pyproject.toml", "CMakeLists.txt", *tracked} <= names
