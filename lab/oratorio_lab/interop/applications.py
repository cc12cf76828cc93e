# SPDX-License-Identifier: BSD-3-Clause
"""Runs unchanged applications in turns with the host's own MPI-IO and with Oratorio, compares their files,
and measures the time that they spend in MPI-IO, in both cases with the same library."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from oratorio.launch.hosts import Host, run_ranks
from oratorio.paths import ROOT
from oratorio.report.facts import median
from oratorio_lab import targets
from oratorio_lab.interop import releases
from oratorio_lab.interop.model import MissingError, NoEndError, WrongError
from oratorio_lab.interop.trial import accesses, host_of

INPUTS = Path(__file__).with_name("inputs")
RANKS = 4
LIMIT_SECONDS = 300  # on a busy machine an application takes ten times as long as alone


@dataclass(frozen=True)
class Step:
    """One parallel run of a program. Names of files in `words` are relative to the working folder."""

    words: tuple[str, ...]
    ranks: int = RANKS


@dataclass(frozen=True)
class Application:
    """An application as its package installs it, and how to run it.

    All files that it leaves are compared byte by byte, except its inputs and those that match a pattern of
    `unlike`. Files with different bytes also count as equal if `checker` exits with 0 for them.
    """

    name: str
    package: str  # the Debian package that contains it
    size: str  # MB to download and on disk, with what it needs beyond the packages of the tests
    tried: str  # what it does with MPI-IO, in a few words
    steps: tuple[Step, ...]
    inputs: tuple[str, ...] = ()  # files of INPUTS, copied into the working folder
    before: tuple[tuple[str, ...], ...] = ()  # commands that prepare the inputs, without MPI and not timed
    unlike: tuple[str, ...] = ()  # patterns of the names of files that may differ, such as logs with times
    checker: tuple[str, ...] = ()  # command that compares two files by their data, if the files contain times
    needs: tuple[str, ...] = ()  # Debian packages that `package` does not depend on
    env: Mapping[str, str] = field(default_factory=dict)
    mpi: str = "openmpi4"
    is_quick: bool = False  # whether the tests include it


@dataclass(frozen=True)
class Arm:
    """One way to run an application."""

    name: str
    preload: bool = False
    env: Mapping[str, str] = field(default_factory=dict)


HOST, ORATORIO = Arm("host"), Arm("Oratorio", preload=True)
# Open MPI 4 has two implementations of MPI-IO; it uses OMPIO unless this variable asks for ROMIO.
ROMIO = Arm("ROMIO", env={"OMPI_MCA_io": "romio321"})


@dataclass(frozen=True)
class Once:
    """The result of one run of all steps: the sum, over the steps, of the longest time that a rank spent in
    MPI-IO, and what the steps printed to stderr."""

    seconds: float
    said: str


@dataclass
class Measured:
    """The results of an application: the number of files that were compared, the number of accesses that rank
    0 saw, and for each arm, by name, the seconds that each of its runs spent in MPI-IO."""

    files: int
    accesses: int
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def host(self) -> tuple[str, float] | None:
        """The name of the fastest of the host MPI's own MPI-IO implementations, and its median time in
        seconds; None if none was timed."""
        known = {name: median(times) for name, times in self.seconds.items() if name != ORATORIO.name}
        return min(known.items(), key=lambda one: one[1]) if known else None

    @property
    def oratorio(self) -> float | None:
        """The median time with Oratorio in seconds; None if it was not timed."""
        times = self.seconds.get(ORATORIO.name)
        return median(times) if times else None


def arms_of(host: Host) -> tuple[Arm, ...]:
    """Returns the arms that are timed under this MPI."""
    has_both = host.flavour == "ompi" and host.version.startswith("4.")
    return (HOST, ROMIO, ORATORIO) if has_both else (HOST, ORATORIO)


def timer() -> Path:
    """Returns the library that measures the time in MPI-IO. Raises MissingError if it can't be compiled."""
    text = (ROOT / "src/bind/mpi_file.def").read_text()
    names = sorted(set(re.findall(r"\bMPI_File_\w+(?=\()", text)))
    names = [name for name in names if not re.search("errhandler|c2f|f2c|toint|fromint", name)]
    large = [f"MPI_File_{name}_c" for name in re.findall(r"\+c +int MPI_File_(\w+)\(", text)]
    listed = "".join(f"TIMED({name})TIMED(P{name})" for name in [*names, *large])
    source, target = Path(__file__).with_name("timed_calls.c"), releases.HOME / "programs/timed_calls.so"
    flags = ("-shared", "-fPIC", "-ldl", f"-DROUTINES={listed}")
    try:
        return targets.compile_program("cc", source, target, *flags)
    except targets.TargetError as error:
        raise MissingError(str(error)) from None


def _prepare(application: Application, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in application.inputs:
        shutil.copy(INPUTS / name, folder / name)
    for words in application.before:
        try:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
            )
        except FileNotFoundError as error:
            raise MissingError(str(error)) from None
        if done.returncode:
            raise WrongError(f"{words[0]}: {(done.stderr or done.stdout)[-120:]}")


def _slowest(times: Path) -> float:
    """Returns the largest time that a rank has written into the folder `times`, and empties the folder."""
    seconds = 0.0
    for file in times.iterdir():
        seconds = max(seconds, float(file.read_text().split()[0]))
        file.unlink()
    return seconds


def run_once(application: Application, host: Host, arm: Arm, folder: Path, explain: bool = False) -> Once:
    """Makes `folder` and runs all steps there. Raises MissingError if something can't run here, WrongError if
    a command fails, and NoEndError if a step does not end within LIMIT_SECONDS."""
    _prepare(application, folder)
    times = folder.with_name(f"{folder.name}.times")
    times.mkdir()
    env = {"OMP_NUM_THREADS": "1", **application.env, **arm.env}
    env |= {"LD_PRELOAD": str(timer()), "TIMED_CALLS_FOLDER": str(times)}
    if explain:
        env["ORATORIO_EXPLAIN"] = "1"
    seconds, said = 0.0, ""
    for step in application.steps:
        try:
            done = run_ranks(
                host, step.ranks, step.words, preload=arm.preload, env=env, cwd=folder,
                timeout_seconds=LIMIT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise NoEndError(f"{arm.name}: {step.words[0]} did not end in {LIMIT_SECONDS} s") from late
        if done.returncode:
            ended = f"{arm.name}: {step.words[0]} ended with {done.returncode}"
            raise WrongError(f"{ended}: {(done.stderr or done.stdout).strip()[:400]}")
        seconds += _slowest(times)
        said += done.stderr
    return Once(seconds, said)


def _files(application: Application, folder: Path) -> dict[str, Path]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    left_out = (*application.inputs, *application.unlike)
    named = {str(file.relative_to(folder)): file for file in files}
    return {name: file for name, file in named.items() if not any(fnmatch(name, one) for one in left_out)}


def _alike(application: Application, one: Path, other: Path) -> bool:
    """Returns whether two files are equal byte for byte or, if there is a checker, by the checker. Raises
    MissingError if the checker is not installed."""
    if one.read_bytes() == other.read_bytes():
        return True
    if not application.checker:
        return False
    words = [*application.checker, one, other]
    try:
        return subprocess.run(words, capture_output=True, timeout=LIMIT_SECONDS, check=False).returncode == 0
    except FileNotFoundError as error:
        raise MissingError(str(error)) from None


def compare(application: Application, theirs: Path, ours: Path) -> int:
    """Compares the files that two runs left, and returns their number. Raises WrongError if there are no
    files or the runs left different files."""
    expected, found = _files(application, theirs), _files(application, ours)
    if not expected or expected.keys() != found.keys():
        names = sorted(expected.keys() ^ found.keys())
        raise WrongError(
            f"only one run left {', '.join(names)}" if names else "neither run left a file to compare"
        )
    different = [name for name in expected if not _alike(application, expected[name], found[name])]
    if different:
        raise WrongError(f"different bytes in {', '.join(different)}")
    return len(expected)


def _turns(arms: Sequence[Arm], repeat: int) -> list[Arm]:
    """Returns `repeat` turns through all arms. Each turn begins one arm later than the turn before."""
    return [arms[(turn + place) % len(arms)] for turn in range(repeat) for place in range(len(arms))]


def measure(application: Application, folder: Path, repeat: int) -> Measured:
    """Runs an application once with the host's default MPI-IO and once with Oratorio, compares the files, and
    counts the accesses that Oratorio saw. Then runs it `repeat` times with each arm of arms_of() to measure.
    Raises MissingError if something can't run here, and WrongError if files differ, Oratorio saw no access,
    or a run other than ROMIO's fails."""
    host = host_of(application.mpi)
    theirs, ours, again = folder / "host", folder / "oratorio", folder / "again"
    run_once(application, host, HOST, theirs)
    said = run_once(application, host, ORATORIO, ours, explain=True).said
    # Each step prints one line with its number of accesses.
    counts = [accesses(line) for line in said.splitlines() if re.search(r" saw \d+ access", line)]
    result = Measured(compare(application, theirs, ours), sum(counts))
    if not result.accesses:
        raise WrongError("the same bytes, but Oratorio saw no access")
    failed = set()
    for arm in _turns(arms_of(host), repeat):
        if arm.name in failed:
            continue
        try:
            once = run_once(application, host, arm, again)
            if arm is ORATORIO:
                compare(application, theirs, again)
            result.seconds.setdefault(arm.name, []).append(once.seconds)
        except WrongError:
            # The application uses OMPIO by default, so ROMIO need not work.
            if arm is not ROMIO:
                raise
            failed.add(arm.name)
            result.seconds.pop(arm.name, None)
        finally:
            shutil.rmtree(again, ignore_errors=True)
            shutil.rmtree(folder / "again.times", ignore_errors=True)
    return result
