# SPDX-License-Identifier: BSD-3-Clause
"""Finds the MPIs on this machine and starts programs under each.

A host is an MPI implementation as a program sees it: a compiler, a launcher and the flavour (the ABI) that
decides which of Oratorio's libraries serves it.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from oratorio.errors import OratorioError
from oratorio.launch.launch import launcher_kind
from oratorio.launch.launchers import VERSION_SECONDS
from oratorio.launch.preload import preloadable
from oratorio.paths import PRIVATE, preload_library

__all__ = ["Host", "HostError", "find_host", "find_hosts", "mpiexec_command", "preload_library", "run_ranks"]

# Variables that make a rank of MPICH yield its core when polling finds nothing, which is necessary with more
# ranks than cores.
MPICH_OVERSUBSCRIBED = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
# Hosts with an MPI that no variable makes yield; their ranks preload the library of yielding.c to yield.
NEVER_YIELD = ("mpich4",)
TIMED_OUT, KILLED = 124, 137  # exit codes of timeout(1)
POLL_SECONDS = 0.5  # long, because the ranks need the cores
OPENMPI_OPTIONS = ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none")


class HostError(OratorioError):
    """Raised if a requested MPI is missing or can't be used; the message says why."""


@dataclass(frozen=True)
class Host:
    """One MPI implementation."""

    name: str
    flavour: str  # mpich, ompi or abi: part of the name of the Oratorio library that serves the host
    mpicc: Path
    mpicxx: Path
    mpiexec: Path
    version: str
    launcher: str  # hydra or openmpi: the dialect of mpiexec's options
    mpifort: Path | None = None
    python: Path | None = None  # an interpreter that has mpi4py for this host
    env: Mapping[str, str] = field(default_factory=dict)  # variables for the ranks


def _version_of(mpiexec: Path) -> str:
    """Returns the version that mpiexec prints; empty if mpiexec does not start, or does not end in time."""
    try:
        told = subprocess.run(
            [mpiexec, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+\.\d+(\.\d+)?", told.stdout)
    return found.group() if found else ""


def _host(name: str, flavour: str, launcher: str, tools: tuple[str, ...], **more) -> Host | None:
    """Returns a host if its tools (mpicc, mpicxx, mpiexec) exist and its mpiexec starts, else None."""
    mpicc, mpicxx, mpiexec = (shutil.which(tool) for tool in tools)
    if not (mpicc and mpicxx and mpiexec):
        return None
    version = _version_of(Path(mpiexec))
    if not version:
        return None
    env = MPICH_OVERSUBSCRIBED if launcher == "hydra" else {}
    env = env | more.pop("env", {})
    return Host(name, flavour, Path(mpicc), Path(mpicxx), Path(mpiexec), version, launcher, env=env, **more)


def _private(prefix: str, suffix: str = "") -> tuple[str, str, str]:
    folder = PRIVATE / prefix / "bin"
    return (f"{folder}/mpicc{suffix}", f"{folder}/mpicxx{suffix}", f"{folder}/mpiexec")


def _debian(name: str) -> tuple[str, str, str]:
    return (f"mpicc.{name}", f"mpicxx.{name}", f"mpiexec.{name}")


def _fortran(name: str) -> Path | None:
    found = shutil.which(f"mpifort.{name}")
    return Path(found) if found else None


@cache
def find_hosts() -> tuple[Host, ...]:
    """Returns the hosts that this machine has, first those inside this checkout, then those of Debian. MPIs
    in other places are not looked for."""
    mpich_python = PRIVATE / "mpich/bin/python"
    openmpi_python = PRIVATE / "openmpi/bin/python"
    debian_env = {
        "MPI4PY_MPIABI": "mpich",
        "LD_LIBRARY_PATH": str(PRIVATE / "mpich4-compat"),
    }
    hosts = (
        _host(
            "mpich5", "mpich", "hydra", _private("mpich"), python=mpich_python,
            env={"LD_LIBRARY_PATH": str(PRIVATE / "mpich/lib")},
        ),
        _host("abi", "abi", "hydra", _private("mpich", "_abi")),
        _host(
            "openmpi5", "ompi", "openmpi", _private("openmpi"), python=openmpi_python,
            env={"LD_LIBRARY_PATH": str(PRIVATE / "openmpi/lib")},
        ),
        _host(
            "mpich4", "mpich", "hydra", _debian("mpich"), mpifort=_fortran("mpich"),
            python=mpich_python, env=debian_env,
        ),
        _host(
            "openmpi4", "ompi", "openmpi", _debian("openmpi"), mpifort=_fortran("openmpi"),
            python=Path("/usr/bin/python3"),
        ),
    )  # fmt: skip
    return tuple(host for host in hosts if host)


def find_host(name: str) -> Host:
    """Returns the host of that name. Raises HostError if there is none."""
    for host in find_hosts():
        if host.name == name:
            return host
    there = ", ".join(host.name for host in find_hosts()) or "none"
    raise HostError(f"there is no MPI named {name} on this machine; found: {there}")


def _host_in(prefix: Path) -> Host:
    """Returns the MPI that is installed in a folder. Raises HostError if there is none."""
    mpicc, mpicxx, mpiexec = (prefix / "bin" / tool for tool in ("mpicc", "mpicxx", "mpiexec"))
    if not (mpicxx.is_file() and mpiexec.is_file()):
        raise HostError(f"no bin/mpicxx and bin/mpiexec in {prefix}")
    launcher = launcher_kind(str(mpiexec))
    hydra = launcher == "hydra"
    env = MPICH_OVERSUBSCRIBED if hydra else {}
    flavour = "mpich" if hydra else "ompi"
    return Host(prefix.name, flavour, mpicc, mpicxx, mpiexec, "", launcher, env=env)


def find_mpi(name: str) -> Host:
    """Finds an MPI by the name of a host (`mpich5`), by the beginning of such a name (`mpich`), or by the
    folder in which the MPI is installed. Raises HostError if there is none."""
    if "/" in name:
        return _host_in(Path(name).resolve())
    found = [host for host in find_hosts() if host.name.startswith(name)]
    if not found:
        there = ", ".join(host.name for host in find_hosts()) or "none"
        raise HostError(f"there is no MPI named {name} on this machine; found: {there}")
    return found[0]


def launcher_in_path(ranks: int) -> list[str]:
    """Returns the words before the program in a command that starts `ranks` ranks with the mpiexec in PATH;
    empty if PATH has no mpiexec."""
    if not shutil.which("mpiexec"):
        return []
    options = OPENMPI_OPTIONS if launcher_kind("mpiexec") == "openmpi" else ()
    return ["mpiexec", *options, "-n", str(ranks)]


@cache
def yielding_library() -> Path | None:
    """Returns the library compiled from yielding.c, which makes ranks of the hosts in NEVER_YIELD yield;
    compiles it if it is missing or older than its source. Returns None if it cannot be compiled."""
    source = Path(__file__).with_name("yielding.c")
    target = PRIVATE / "yielding.so"
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    compiler = shutil.which("cc")
    if not compiler:
        return None
    PRIVATE.mkdir(parents=True, exist_ok=True)
    # Another run may load the old file or compile the source at the same time, so the finished file is moved
    # into place.
    with tempfile.TemporaryDirectory(dir=PRIVATE) as folder:
        fresh = Path(folder) / target.name
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", fresh, source, "-ldl"]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            return None
        fresh.rename(target)
    return target


def _with_preloads(host: Host, variables: dict[str, str], preload: bool) -> dict[str, str]:
    """Returns the variables with LD_PRELOAD set to the caller's libraries, to Oratorio if requested, and to
    yielding_library() if the host is in NEVER_YIELD."""
    libraries = [variables["LD_PRELOAD"]] if variables.get("LD_PRELOAD") else []
    if preload:
        libraries.append(str(preloadable(preload_library())))
    yielding = yielding_library() if host.name in NEVER_YIELD else None
    if yielding:
        libraries.append(str(yielding))
    return variables | ({"LD_PRELOAD": ":".join(libraries)} if libraries else {})


def mpiexec_command(host: Host, ranks: int, preload: bool, env: Mapping[str, str] | None = None) -> list[str]:
    """Returns the words before the program in a command that starts `ranks` ranks with `env` and, if
    requested, Oratorio preloaded.

    Only the ranks get these variables, not the launcher.
    """
    variables = _with_preloads(host, dict(host.env) | dict(env or {}), preload)
    command = [str(host.mpiexec)]
    if host.launcher == "hydra":
        for key, value in variables.items():
            command += ["-genv", key, value]
    else:
        command += OPENMPI_OPTIONS
        for key, value in variables.items():
            command += ["-x", f"{key}={value}"]
    return [*command, "-n", str(ranks)]


def _text_of(file: IO[bytes]) -> str:
    """Returns a file's whole text, decoded as subprocess decodes the text of a pipe."""
    file.seek(0)
    return io.TextIOWrapper(file, errors="replace").read()


@contextmanager
def limited_job(
    command: Sequence[str | Path], timeout_seconds: float, **options: Any
) -> Iterator[subprocess.Popen]:
    """Starts a command under timeout(1), which ends it at its time limit even if the calling process is gone.
    The options are those of Popen. At the end of the block, waits for the command. If an exception such as
    that of a signal's handler ends the block, ends the command: timeout(1) passes SIGTERM on, and sends
    SIGKILL later."""
    limited = ["timeout", "--kill-after=10", str(timeout_seconds), *command]
    with subprocess.Popen(limited, stdin=subprocess.DEVNULL, **options) as job:
        try:
            yield job
        except BaseException:
            job.terminate()
            raise


def _wait(job: subprocess.Popen, poll: Callable[[], None] | None) -> None:
    """Waits for a job, and calls `poll` every POLL_SECONDS."""
    while True:
        try:
            job.wait(POLL_SECONDS if poll else None)
        except subprocess.TimeoutExpired:
            poll()
        else:
            return


def run_limited(
    command: Sequence[str | Path],
    timeout_seconds: float,
    *,
    cwd: Path | None = None,
    poll: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, and calls `poll` every POLL_SECONDS. Captures stdout and stderr separately.

    Raises subprocess.TimeoutExpired if the command was ended at its time limit.
    """
    start = time.monotonic()
    # The output goes to files, because a pipe stays open as long as a rank runs that the launcher has left
    # behind.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with limited_job(command, timeout_seconds, stdout=out, stderr=err, cwd=cwd) as job:
            _wait(job, poll)
        said, complained = (_text_of(file) for file in (out, err))
    if job.returncode in (TIMED_OUT, KILLED) and time.monotonic() - start >= timeout_seconds:
        raise subprocess.TimeoutExpired(command, timeout_seconds, said, complained)
    return subprocess.CompletedProcess(command, job.returncode, said, complained)


def run_ranks(
    host: Host,
    ranks: int,
    program: Sequence[str | Path],
    *,
    preload: bool = False,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_seconds: float = 180,
    poll: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a program on ranks, as run_limited() runs a command."""
    command = [*mpiexec_command(host, ranks, preload, env), *map(str, program)]
    return run_limited(command, timeout_seconds, cwd=cwd, poll=poll)
