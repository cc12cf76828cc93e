# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio test`: every kind of test, one summary, counts that add up.

ctest and pytest run as they are; their output is followed line by line for the progress, kept in
out/test/<part>.log, and counted from the JUnit files they write.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from oratorio import lint
from oratorio.paths import BUILD, OUT, ROOT

LOGS = OUT / "test"
CTEST_LINE = re.compile(r"^\s*(\d+)/(\d+) Test\s+#\d+: (\S+)")
PYTEST_LINE = re.compile(r"^(\S+::.+?) (?:PASSED|FAILED|ERROR|SKIPPED).*\[\s*(\d+)%\]")
HANG_SECONDS = 900  # of one test, with what it builds or starts first; ctest has a limit for each of its own
QUIET_SECONDS = 20  # where no terminal shows a bar, a line at least this often
# Of the tests with ThreadSanitizer those of the target thread_tests; the others may not have been built.
THREAD = ROOT / "build-thread"
WHERE_THREADS_MEET = (
    r"^unit\.[a-z]+\.(Bell|Reserve|ServedCounter|Strangers|Threaded)\.|^sim\.(methods/)?AtOnce"
)
NOT_MADE_FOR_IT = r"_NOT_BUILT$|^mpi\."


@dataclass
class Outcome:
    """What a part came to."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)
    seconds: float = 0


Advance = Callable[[float, str], None]  # share done, name of the test


def _ctest(junit: Path, match: str | None, *selection: str, build: Path = BUILD) -> list[str]:
    names = ["-R", match] if match else []
    output = ["--output-on-failure", "--no-tests=ignore", "--output-junit", str(junit)]
    return ["ctest", "--test-dir", str(build), *selection, *names, *output]


def _pytest(junit: Path, match: str | None, *places: str) -> list[str]:
    names = ["-k", match] if match else []
    quiet = ["-p", "no:cacheprovider", "--tb=short", "-v", "-rs"]
    # A test that hangs ends its part, and the log tells where it was.
    limit = ["-o", f"faulthandler_timeout={HANG_SECONDS}", "-o", "faulthandler_exit_on_timeout=true"]
    return [sys.executable, "-m", "pytest", *quiet, *limit, *names, f"--junitxml={junit}", *places]


# Those that make machines: kernels in user mode, of one core each, and nodes that wait for one cut off.
MACHINES = [f"tests/programs/test_{name}.py" for name in ("failing_disk", "clients", "several_nodes")]


# A test with MPI counts as many processors as it has ranks, so only those of one rank run beside each other.
PARTS: dict[str, Callable[[Path, str | None], list[str]] | None] = {
    "lint": None,
    "tools": lambda junit, match: _pytest(junit, match, "tools/tests"),
    "unit": lambda junit, match: _ctest(junit, match, "-LE", "mpi", "-j", str(os.cpu_count())),
    "plain": lambda junit, match: _ctest(junit, match, "-L", "plain", "-j", str(os.cpu_count())),
    "sanitize": lambda junit, match: _ctest(
        junit, match, "-j", str(os.cpu_count()), build=ROOT / "build-sanitize"
    ),
    "thread": lambda junit, match: _ctest(
        junit, match or WHERE_THREADS_MEET, "-E", NOT_MADE_FOR_IT, "-j", str(os.cpu_count()), build=THREAD
    ),
    "thread-all": lambda junit, match: _ctest(junit, match, "-j", str(os.cpu_count()), build=THREAD),
    "mpi": lambda junit, match: _ctest(junit, match, "-L", "mpi", "-j", str(os.cpu_count())),
    "programs": lambda junit, match: _pytest(
        junit, match, "tests/programs", *(f"--ignore={file}" for file in MACHINES)
    ),
    "machines": lambda junit, match: _pytest(junit, match, *MACHINES),
}

# Leaves cores idle, and shares nothing with the other parts: runs beside them from the begin.
BESIDE = "machines"

# Only who asks for them gets these. `unit` has the tests of `sanitize` without sanitizers,
# `plain` a few of them. `thread-all` takes minutes to build.
ON_REQUEST = frozenset({"thread-all", "unit"})
DEFAULT = tuple(part for part in PARTS if part not in ON_REQUEST)


def read_junit(file: Path) -> Outcome:
    """Counts and names from the JUnit file of ctest or pytest."""
    outcome = Outcome()
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        name = ".".join(dict.fromkeys(filter(None, (case.get("classname"), case.get("name")))))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failures.append(name)
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            reason = (skipped.get("message") if skipped is not None else None) or "disabled"
            outcome.skips.append(f"{name}: {reason.strip()}")
        else:
            outcome.passed += 1
    return outcome


def follow(line: str) -> tuple[float, str] | None:
    """(share done, test) if this line of ctest or pytest tells of a finished test."""
    found = CTEST_LINE.match(line)
    if found:
        return int(found[1]) / int(found[2]), found[3]
    found = PYTEST_LINE.match(line)
    return (int(found[2]) / 100, found[1]) if found else None


TEST_ENVIRONMENT = {
    "PYTHONPATH": str(ROOT / "tools"),
    "PYTHONUNBUFFERED": "1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def _run_command(command: list[str], log: Path, advance: Advance) -> int:
    env = os.environ | TEST_ENVIRONMENT
    with log.open("w") as kept:
        job = subprocess.Popen(
            command, cwd=ROOT, env=env, text=True, errors="replace", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        for line in job.stdout:
            kept.write(line)
            told = follow(line)
            if told:
                advance(*told)
        return job.wait()


def _run_lint() -> Outcome:
    outcome = Outcome()
    with (LOGS / "lint.log").open("w") as log:
        for name, complaints in lint.outcomes().items():
            log.write(f"== {name}\n{complaints}\n")
            if complaints:
                outcome.failures.append(name)
            else:
                outcome.passed += 1
    return outcome


def _run_part(part: str, match: str | None, advance: Advance) -> Outcome:
    start = time.monotonic()
    build = PARTS[part]
    if build is None:
        outcome = _run_lint()
    else:
        junit = LOGS / f"{part}.xml"
        junit.unlink(missing_ok=True)
        code = _run_command(build(junit, match), LOGS / f"{part}.log", advance)
        outcome = read_junit(junit) if junit.exists() else Outcome()
        # 5: pytest's word for "no test matches".
        if code not in (0, 5) and not outcome.failures:
            outcome.failures.append(f"the runner of part {part} itself (exit code {code})")
    if not (match or outcome.passed or outcome.failures):
        outcome.failures.append(f"part {part} ran no test")
    outcome.seconds = time.monotonic() - start
    return outcome


class _Lines:
    """Progress for a log file: a line now and then."""

    def __init__(self, console: Console, part: str) -> None:
        self.console_, self.part_, self.told_ = console, part, time.monotonic()

    def __call__(self, share: float, name: str) -> None:
        if time.monotonic() - self.told_ > QUIET_SECONDS:
            self.told_ = time.monotonic()
            line = f"  {self.part_}: {share:4.0%}  {name}"
            self.console_.print(line, markup=False, soft_wrap=True)


def _with_progress(console: Console, part: str, match: str | None) -> Outcome:
    """A part's outcome, and how far it is meanwhile."""
    if not console.is_terminal:
        console.print(f"{part} ...")
        return _run_part(part, match, _Lines(console, part))
    columns = (TextColumn("{task.fields[part]:<9}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0, part=part)

        def advance(share: float, name: str) -> None:
            bar.update(task, completed=share, description=name[-60:])

        return _run_part(part, match, advance)


def _untold(share: float, name: str) -> None:
    """Progress of what runs beside: another part's is shown."""


def _print_part(console: Console, part: str, outcome: Outcome) -> None:
    counts = f"{outcome.passed} passed, {len(outcome.failures)} failed"
    if outcome.skips:
        counts += f", {len(outcome.skips)} skipped"
    color = "red" if outcome.failures else "green"
    console.print(f"[{color}]{part:<9}[/] {counts} in {outcome.seconds:.0f} s")
    if outcome.failures:
        log = (LOGS / f"{part}.log").read_text(errors="replace") if (LOGS / f"{part}.log").exists() else ""
        console.print("\n".join(log.splitlines()[-120:]), markup=False, soft_wrap=True)


def run(parts: Sequence[str], match: str | None = None) -> bool:
    """Runs the parts in the order of PARTS; true if nothing failed."""
    console = Console(highlight=False)
    LOGS.mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, Outcome] = {}
    chosen = [part for part in PARTS if part in parts]
    with ThreadPoolExecutor(max_workers=1) as pool:
        beside: dict[str, Future[Outcome]] = {}
        if BESIDE in chosen and len(chosen) > 1:
            console.print(f"{BESIDE} ... (beside the others)")
            beside[BESIDE] = pool.submit(_run_part, BESIDE, match, _untold)
        for part in chosen:
            running = beside.get(part)
            outcomes[part] = running.result() if running else _with_progress(console, part, match)
            _print_part(console, part, outcomes[part])
    _print_summary(console, outcomes)
    return not any(outcome.failures for outcome in outcomes.values())


def _print_summary(console: Console, outcomes: dict[str, Outcome]) -> None:
    table = Table("part", "passed", "failed", "skipped", "seconds")
    for part, outcome in outcomes.items():
        counts = (outcome.passed, len(outcome.failures), len(outcome.skips))
        table.add_row(part, *map(str, counts), f"{outcome.seconds:.0f}")
    console.print(table)
    for part, outcome in outcomes.items():
        for name in outcome.failures:
            console.print(f"failed: {part}: {name}", markup=False, soft_wrap=True)
        for name in outcome.skips:
            console.print(f"skipped: {part}: {name}", markup=False, soft_wrap=True)
    console.print(f"logs: {LOGS.relative_to(ROOT)}/")
    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(len(outcome.failures) for outcome in outcomes.values())
    skipped = sum(len(outcome.skips) for outcome in outcomes.values())
    console.print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
