# SPDX-License-Identifier: BSD-3-Clause
"""Compiles a program of tests/programs, runs it without and with Oratorio, and compares the two runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from oratorio.launch.hosts import Host, HostError, find_host, run_ranks
from oratorio.paths import ROOT
from oratorio.quantity import counted
from oratorio_lab import targets
from oratorio_lab.interop import releases
from oratorio_lab.interop.model import LIMIT_SECONDS, RANKS, MissingError, NoEndError, WrongError

PROGRAMS = ROOT / "tests/programs"
# Returns a program and its arguments, given the folder that the program writes to.
Words = Callable[[Path], Sequence]
HDF5_FOLDER = {"ompi": "openmpi", "mpich": "mpich"}


def host_of(name: str) -> Host:
    """Returns an MPI of this machine, or the Open MPI of another release of Debian. Raises MissingError."""
    for release in releases.RELEASES:
        if release.name == name:
            return release.host()
    try:
        return find_host(name)
    except HostError as error:
        raise MissingError(str(error)) from error


def system_version(package: str) -> str:
    """Returns the version of an installed package of Debian. Raises MissingError."""
    if shutil.which("dpkg-query") is None:
        raise MissingError(f"package {package} of Debian is missing")
    command = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    status, _, version = done.stdout.partition(" ")
    if done.returncode or status != "ii":
        raise MissingError(f"package {package} isn't installed")
    return releases.upstream(version)


def _flags(host: Host, library: str) -> list[str]:
    """Returns the flags to compile, for the host, a C program that uses `library`: hdf5, netcdf, pnetcdf, or
    an empty string for none."""
    root = releases.root_of(host)
    folder = root / releases.LIBRARIES
    of_hdf5 = HDF5_FOLDER.get(host.flavour, "")
    flags = {
        "": [],
        "hdf5": [f"-I{root}/usr/include/hdf5/{of_hdf5}", f"{folder}/hdf5/{of_hdf5}/libhdf5.so"],
        "netcdf": [f"-I{folder}/netcdf/mpi/include", f"{folder}/libnetcdf_mpi.so"],
        "pnetcdf": [f"-I{root}/usr/include", f"{folder}/libpnetcdf.so"],
    }[library]
    if root == Path("/"):
        return flags
    # A release's libraries need another C library than the one that the program is linked with here. In Open
    # MPI 6 the handles are in a separate library, libopen_mpi.
    mpi = [file for name in ("libmpi", "libopen_mpi") for file in folder.glob(f"{name}.so.40")]
    flags += [f"-I{folder}/openmpi/include", *map(str, mpi)]
    return [*flags, "-Wl,--unresolved-symbols=ignore-in-shared-libs", f"-Wl,-rpath,{folder}"]


def compiled(host: Host, source: str, library: str = "", *flags: str, name: str = "") -> Path:
    """Compiles a source of tests/programs unless it is up to date, and returns the program. Raises
    MissingError."""
    target = releases.HOME / "programs" / host.name / (name or Path(source).stem)
    try:
        return targets.compile_program(host.mpicc, PROGRAMS / source, target, *_flags(host, library), *flags)
    except targets.TargetError as error:
        raise MissingError(f"{source} can't be compiled: {str(error).splitlines()[-1]}") from None


def run(
    host: Host,
    words: Sequence,
    *,
    preload: bool,
    env: Mapping[str, str] | None = None,
    seconds: float = LIMIT_SECONDS,
) -> str:
    """Runs a program and returns its standard error. Raises WrongError if it fails, or NoEndError if it
    does not end in time."""
    try:
        done = run_ranks(
            host, RANKS, words, preload=preload, env={**(env or {}), "ORATORIO_EXPLAIN": "1"},
            timeout_seconds=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise NoEndError(
            f"{'with' if preload else 'without'} Oratorio: still running after {seconds} s"
        ) from late
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()][:1] or [str(done.returncode)]
        raise WrongError(f"{'with' if preload else 'without'} Oratorio: {said[0][:120]}")
    return done.stderr


def accesses(said: str) -> int:
    """Returns how many accesses Oratorio saw on rank 0, from the last line of `explain`. That line comes from
    MPI_Finalize; without it, counts the accesses that were explained."""
    found = re.search(r" saw (\d+) access", said)
    return (
        int(found[1])
        if found
        else len(re.findall(r": (?:collective|independent) (?:write|read) \d+: ", said))
    )


def _files(folder: Path) -> dict[str, bytes]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def both_ways(
    host: Host,
    words: Words,
    folder: Path,
    env: Mapping[str, str] | None = None,
    keep: str = "",
    has_times: bool = False,
) -> int:
    """Runs a program without and with Oratorio; returns how many accesses Oratorio saw. Raises WrongError if
    files differ.

    Compares only files with names that end in `keep`, and only lengths if the files contain times.
    """
    theirs, ours = folder / "host", folder / "oratorio"
    theirs.mkdir(parents=True)
    ours.mkdir()
    run(host, words(theirs), preload=False, env=env)
    said = run(host, words(ours), preload=True, env=env)
    expected, found = (
        {name: data for name, data in _files(one).items() if name.endswith(keep)} for one in (theirs, ours)
    )
    if not expected or expected.keys() != found.keys():
        raise WrongError(f"files are {', '.join(found) or 'none'} instead of {', '.join(expected) or 'some'}")
    alike = (lambda one, other: len(one) == len(other)) if has_times else bytes.__eq__
    different = [name for name, data in expected.items() if not alike(data, found[name])]
    if different:
        raise WrongError(f"different bytes in {', '.join(different)}")
    return accesses(said)


def seen(host: Host, words: Words, folder: Path, **options) -> str:
    """Runs a program without and with Oratorio, and describes the outcome. Raises WrongError if files differ
    or Oratorio saw no access."""
    count = both_ways(host, words, folder, **options)
    if not count:
        raise WrongError("the same bytes, but Oratorio saw no access")
    same = "right data (the file has times in it)" if options.get("has_times") else "same bytes"
    return f"{same}, {counted(count, 'access')} seen"


def past_us(host: Host, words: Words, folder: Path, why: str, **options) -> str:
    """Like seen(), for a program that is known to bypass MPI-IO: raises WrongError if Oratorio saw an
    access."""
    count = both_ways(host, words, folder, **options)
    if count:
        raise WrongError(f"Oratorio saw {counted(count, 'access')} that it should not see: {why}")
    return f"same bytes, no access seen: {why}"


def oratorio_says(*words, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Runs `oratorio` and returns its exit code and standard error."""
    environ = {
        **os.environ,
        "PYTHONPATH": ":".join(str(ROOT / name) for name in ("cli", "lab", "dev")),
        **(env or {}),
    }
    command = [sys.executable, "-m", "oratorio", *map(str, words)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr
