# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio conformance mpiexec -n 4`: tests the MPI-IO of a launcher's MPI, rule by rule.

The C program in cli/conformance contains the rules. One launch runs all rules except those about
MPI_Finalize, which a second launch runs. If the program crashes or hangs, the current rule is recorded as
broken, and a new launch continues with the next rule.
"""

from __future__ import annotations

import hashlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.launch import launch
from oratorio.paths import INSTALLED, IS_INSTALLED, PRIVATE, ROOT

SOURCES = INSTALLED / "conformance" if IS_INSTALLED else ROOT / "cli/conformance"
COMPILE = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-g")
LIBRARIES = ("-ldl", "-lpthread")
LAUNCH_SECONDS = 60  # time limit until the first rule begins
LONG_FACTOR = 30  # long rules may take this many times the limit; frame.c has the same factor
GRACE_SECONDS = 10  # the program's own limit of a usual rule is this much longer than this runner's
OK, WRONG, CRASH, HANG, UNAVAILABLE = "ok", "wrong", "crash", "hang", "unavailable"
BROKEN = (WRONG, CRASH, HANG)


class ConformanceError(OratorioError):
    """Raised if the rules cannot run; the message says why."""


@dataclass(frozen=True)
class Rule:
    """A row of the program's table of rules."""

    section: str
    id: str
    ranks: int
    kind: str  # usual, finalize, long or selftest
    routines: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of a rule: ok, wrong, crash, hang or unavailable."""

    rule: Rule
    result: str
    message: str = ""


@dataclass
class Report:
    """The outcomes of rules, in the order of the program's table of rules."""

    command: list[str]
    library: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # messages that belong to no rule

    def count(self, result: str) -> int:
        return sum(outcome.result == result for outcome in self.outcomes)


def find_mpicc(launcher: str) -> Path:
    """Returns the compiler that belongs to a launcher: in the launcher's folder, mpicc with the launcher's
    suffix (mpicc.mpich for mpiexec.mpich), else mpicc. For srun, mpicc may also be elsewhere in PATH. Raises
    ConformanceError."""
    found = shutil.which(launcher)
    if not found:
        raise ConformanceError(f"{launcher}: command not found")
    place = Path(found)
    suffix = place.name.removeprefix("mpiexec").removeprefix("mpirun")
    for name in (f"mpicc{suffix}", "mpicc"):
        if (place.parent / name).exists():
            return place.parent / name
    in_path = shutil.which("mpicc")
    if place.name == "srun" and in_path:
        return Path(in_path)
    raise ConformanceError(f"there is no mpicc next to {place}; name one with --mpicc")


def _cache() -> Path:
    if PRIVATE.exists() and not IS_INSTALLED:
        return PRIVATE / "conformance"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "oratorio/conformance"


def build(mpicc: Path) -> Path:
    """Returns the program that this compiler built from cli/conformance. The program is cached until a source
    or the compiler's command changes."""
    shown = subprocess.run([mpicc, "-show"], capture_output=True, text=True, check=False)
    digest = hashlib.sha256((str(mpicc) + shown.stdout).encode())
    for source in sorted(SOURCES.glob("*.[ch]")):
        digest.update(source.read_bytes())
    program = _cache() / digest.hexdigest()[:16] / "conformance"
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    # The compiler writes to another name, and the finished program is moved into place, so that a concurrent
    # run never sees half a program.
    unfinished = program.with_name(f"unfinished-{os.getpid()}")
    command = [mpicc, *COMPILE, "-o", unfinished, *sorted(SOURCES.glob("*.c")), *LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConformanceError(f"{mpicc} can't compile the rules:\n{done.stderr[-2000:]}")
    unfinished.replace(program)
    return program


def list_rules(program: Path) -> list[Rule]:
    """Returns all rules of the program, including those of kind selftest, which test this runner."""
    done = subprocess.run([program, "--list"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConformanceError(f"{program} does not start:\n{done.stderr[-2000:]}")
    rules = []
    for line in done.stdout.splitlines():
        section, name, ranks, kind, routines, sentence = line.split("\t")
        rules.append(Rule(section, name, int(ranks), kind, tuple(routines.split()), sentence))
    return rules


def _is_in(section: str, name: str) -> bool:
    """Returns whether a rule's section, such as `14.5.3` or `20 (5.0)`, is the section `name` or a part of
    it."""
    return name == section or f"{section.split(maxsplit=1)[0]}.".startswith(f"{name}.")


def select(rules: Sequence[Rule], sections: Sequence[str], ids: Sequence[str], with_long: bool) -> list[Rule]:
    """Returns the rules with these ids. Without ids, returns the rules of these sections, or of all sections
    if none is given; among them long rules only if `with_long`. Raises ConformanceError."""
    known = {rule.id for rule in rules}
    unknown = [name for name in ids if name not in known]
    if unknown:
        raise ConformanceError(f"no such rule: {', '.join(unknown)}")
    if ids:
        return [rule for rule in rules if rule.id in ids]
    kinds = {"usual", "finalize"} | ({"long"} if with_long else set())
    chosen = [
        rule
        for rule in rules
        if rule.kind in kinds and (not sections or any(_is_in(rule.section, name) for name in sections))
    ]
    if not chosen:
        raise ConformanceError(f"there is no rule in section {', '.join(sections)}")
    return chosen


class _Job:
    """One launch of the program. Yields its lines of output as they arrive; a caller may move the
    deadline."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=os.environ | env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self.deadline = time.monotonic() + LAUNCH_SECONDS
        self.is_late = False

    def lines(self) -> Iterator[str]:
        """Yields lines until the output ends or the deadline passes."""
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                left = self.deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self.is_late = True
                    return
                part = os.read(self._process.stdout.fileno(), 65536)
                if not part:
                    return
                *whole, rest = (rest + part).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)

    def end(self) -> int:
        """Ends the processes of the job that still run, and returns the launcher's exit code."""
        for number, seconds in ((None, 5), (signal.SIGTERM, 10), (signal.SIGKILL, None)):
            if number is None and self.is_late:
                continue
            if number is not None:
                os.killpg(self._process.pid, number)
            try:
                return self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
        return self._process.returncode


class Runner:
    """Runs rules. If the program crashes or hangs, launches it again for the rules that are left."""

    def __init__(
        self,
        launcher: Sequence[str],
        program: Path,
        folder: Path,
        seconds: int,
        with_oratorio: bool,
        advance: Callable[[Outcome], None],
    ) -> None:
        self._launcher, self._program, self._folder = list(launcher), program, folder
        self._seconds, self._with_oratorio, self._advance = seconds, with_oratorio, advance
        self._noise: list[str] = []
        self.report = Report(self._launcher)

    def run(self, rules: Sequence[Rule]) -> Report:
        """Runs all rules. Raises ConformanceError if a launch runs no rule."""
        # The rules about MPI_Finalize have a launch of their own, so that what broken rules leave behind
        # cannot disturb them.
        for at_finalize in (False, True):
            left = {rule.id: rule for rule in rules if (rule.kind == "finalize") == at_finalize}
            while left:
                before = len(left)
                self._launch_once(left)
                if len(left) == before:
                    raise ConformanceError("the program did not run:\n" + "\n".join(self._noise[-15:]))
        order = {rule.id: place for place, rule in enumerate(rules)}
        self.report.outcomes.sort(key=lambda outcome: order[outcome.rule.id])
        return self.report

    def _job(self, ids: Sequence[str]) -> _Job:
        words = [*self._launcher, str(self._program), str(self._folder)]
        words += [str(self._seconds + GRACE_SECONDS), *ids]
        if not self._with_oratorio:
            return _Job(words, {})
        prepared = launch.prepare(words, {}, os.environ)
        return _Job(prepared.argv, prepared.env)

    def _note(self, left: dict[str, Rule], name: str, result: str, message: str) -> None:
        rule = left.pop(name, None)
        if rule:
            outcome = Outcome(rule, result, message)
            self.report.outcomes.append(outcome)
            self._advance(outcome)

    def _launch_once(self, left: dict[str, Rule]) -> None:
        """Launches the program once for the rules in `left`, and removes from `left` those that got an
        outcome."""
        running, is_done, self._noise = None, False, []
        job = self._job(list(left))
        try:
            for line in job.lines():
                # A launcher may put a label before each line, so the mark need not be at the start.
                mark, _, rest = line[max(line.find("@"), 0) :].partition(" ")
                if mark == "@begin":
                    running = rest.strip()
                elif mark == "@end":
                    name, _, told = rest.partition(" ")
                    result, _, message = told.partition(" ")
                    self._note(left, name, result, message.strip())
                    running = None
                elif mark == "@mpi":
                    self.report.library = rest.strip()
                elif mark == "@done":
                    is_done = True
                elif line.strip():
                    self._noise.append(line.strip())
                if mark in ("@begin", "@end"):
                    job.deadline = time.monotonic() + self._limit_of(left.get(running))
        finally:
            code = job.end()
        if running and job.is_late:
            limit = self._limit_of(left.get(running))
            self._note(left, running, HANG, f"still running after {limit} s")
        elif running:
            self._note(left, running, CRASH, self._last_words(code))
        elif not left and not is_done:
            how = "hangs" if job.is_late else f"ends with exit code {code}"
            self.report.remarks.append(f"After its last rule the program {how}: {self._last_words(code)}")

    def _limit_of(self, rule: Rule | None) -> int:
        """Returns the time limit of a rule in seconds; that of a usual rule for None."""
        return self._seconds * (LONG_FACTOR if rule and rule.kind == "long" else 1)

    def _last_words(self, code: int) -> str:
        told = [
            line
            for line in self._noise
            if any(word in line.lower() for word in ("signal", "abort", "assert"))
        ]
        return told[0][:200] if told else f"exit code {code}"


def run_rules(
    launcher: Sequence[str],
    *,
    mpicc: Path | None = None,
    sections: Sequence[str] = (),
    ids: Sequence[str] = (),
    with_long: bool = False,
    with_oratorio: bool = False,
    seconds: int = 20,
    folder: Path = Path(),
    started: Callable[[int], None] = lambda total: None,
    advance: Callable[[Outcome], None] = lambda outcome: None,
) -> Report:
    """Builds the rules for the launcher's MPI and runs them in a folder that all ranks see.

    Calls `started` with the number of rules and `advance` with each outcome. Raises ConformanceError,
    LaunchError.
    """
    program = build(mpicc or find_mpicc(launcher[0]))
    rules = select(list_rules(program), sections, ids, with_long)
    started(len(rules))
    scratch = Path(tempfile.mkdtemp(prefix="oratorio-conformance-", dir=folder.resolve()))
    try:
        return Runner(launcher, program, scratch, seconds, with_oratorio, advance).run(rules)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
