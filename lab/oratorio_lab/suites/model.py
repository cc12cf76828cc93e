# SPDX-License-Identifier: BSD-3-Clause
"""Data types for a suite: tests of another project, their source, and how they are built, run and judged."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio.paths import PRIVATE

# The folder of sources, programs and scratch files. Everything in it can be deleted.
WORK = Path(os.environ.get("ORATORIO_CONFORMANCE", PRIVATE / "conformance"))

ARMS = ("host", "oratorio")
# The parts of a suite: all tests, all but the slow ones, only the slow ones.
ALL, QUICK, SLOW = "all", "quick", "slow"
PASS, FAIL, TIMEOUT, NOT_BUILT, SKIP = "pass", "fail", "timeout", "not built", "skip"


@dataclass(frozen=True)
class Archive:
    """The upstream source of a Debian source package, or a source distribution of PyPI."""

    package: str
    version: str  # Debian's, or PyPI's
    file: str  # name of the .orig.tar, or of the distribution
    sha256: str
    parts: tuple[str, ...]  # path prefixes of what to unpack, below the archive's only folder
    registry: str = "debian"  # "debian" or "pypi"

    @property
    def name(self) -> str:
        """The folder into which the archive is unpacked."""
        return f"{self.package}-{self.version.partition(':')[2] or self.version}"


@dataclass(frozen=True)
class Result:
    """The outcome of one test."""

    outcome: str  # PASS, FAIL, TIMEOUT, NOT_BUILT or SKIP
    detail: str = ""  # one line: why the test did not pass, such as the program's complaint


@dataclass(frozen=True)
class Finished:
    """A program that has run."""

    code: int
    stdout: str
    stderr: str

    def complaint(self) -> str:
        """Returns the first informative line of stderr, or else of stdout; without any, the exit code."""
        noise = ("---", "===", "***", "[proxy:", "Exit code:", "Process name:", "prterun", "mpiexec")
        noise += (
            "Primary job",
            "Proc:",
            "with errorcode",
            "MPI_ABORT was invoked",
            "NOTE: invoking",
            "You may",
        )
        for text in (self.stderr, self.stdout):
            lines = [line.strip() for line in text.splitlines()]
            telling = [line for line in lines if line and not line.startswith(noise)]
            if telling:
                return telling[0][:200]
        return f"exit code {self.code}"


Judge = Callable[[Finished], Result]


def says_no_errors(run: Finished) -> Result:
    """Judges by Argonne's convention: a program passes if it prints a line ` No Errors` and exits with 0.
    Searches stderr, too, because the program big_extents prints the line there."""
    lines = (run.stdout + "\n" + run.stderr).splitlines()
    if run.code == 0 and any(line.strip() == "No Errors" for line in lines):
        return Result(PASS)
    return Result(FAIL, run.complaint())


def ends_well(run: Finished) -> Result:
    """Judges programs without a verdict of their own: exit code 0, and no mention of an error."""
    if run.code == 0 and "error" not in (run.stdout + run.stderr).lower():
        return Result(PASS)
    return Result(FAIL, run.complaint())


def exits_with_zero(run: Finished) -> Result:
    """Judges by the exit code alone."""
    return Result(PASS) if run.code == 0 else Result(FAIL, run.complaint())


@dataclass(frozen=True)
class Program:
    """One test program. In `arguments` and `env`, {scratch} is the working folder of the run and {source} the
    folder of the suite's source."""

    name: str
    sources: tuple[str, ...]  # C and Fortran, relative to the suite's source
    ranks: int = 4
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    seconds: int = 120
    judge: Judge = says_no_errors
    # a program to run before this one in the same folder, whatever its outcome
    first: "Program | None" = None
    support: str = "c"  # which of the suite's support sources to link
    is_slow: bool = False  # takes minutes or gigabytes, so the tests that run with every change leave it out

    def is_in(self, part: str) -> bool:
        """Returns whether that part of the suite (ALL, QUICK or SLOW) includes the program."""
        return part == ALL or self.is_slow == (part == SLOW)


@dataclass(frozen=True)
class Script:
    """A Python program that runs many tests in one job and records them as mpi4py_runner.py does."""

    file: Path
    arguments: tuple[str, ...] = ()
    ranks: int = 4
    seconds: int = 300
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """The tests of one project."""

    name: str
    title: str
    archive: Archive | None  # None if everything that the suite needs is in the host's Python
    hosts: tuple[str, ...]  # hosts under which the suite runs by default
    needs: str  # compiler or interpreter that a host must have: "c", "fortran", "python"
    # returns the tests, given the source folder and a host
    tests: Callable[[Path, Host], Sequence[Program] | Script]
    remark: str = ""  # a remark for readers of the results
    prepare: Callable[[Path], None] = lambda source: None  # called once, after the source was unpacked
    # Sources that programs are linked with, by the value of Program.support.
    support: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    includes: tuple[str, ...] = ()  # folders relative to the source
    flags: Callable[[Host], tuple[str, ...]] = lambda host: ()  # compiler options
    libraries: Callable[[Host], tuple[str, ...]] = lambda host: ()  # linker options

    def serves(self, host: Host) -> bool:
        """Returns whether the host has what the suite needs."""
        has = {"c": True, "fortran": host.mpifort, "python": host.python}
        return bool(has[self.needs])
