# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio test`: runs every kind of test and prints one summary.

ctest and pytest run as they are. Their output is followed line by line for the progress and kept in
out/test/<part>.log; the counts come from the JUnit files that they write.
"""

import argparse
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from oratorio.command_line import Parser
from oratorio.errors import OratorioError
from oratorio.paths import OUT, ROOT
from oratorio_dev import lint, testing_names, testing_parts
from oratorio_dev.testing_parts import BESIDE, Part
from oratorio_lab import progress

LOGS = OUT / "test"
STATE = LOGS / "state"  # where the library keeps learned times in tests, in place of the user's folder
FAILURES_SHOWN = 8  # failed tests of a part whose output is shown
LINES_SHOWN = 60  # last lines of that output
CTEST_LINE = re.compile(r"^\s*(\d+)/(\d+) Test\s+#\d+: (\S+)")
PYTEST_LINE = re.compile(r"^(\S+::.+?) (?:PASSED|FAILED|ERROR|SKIPPED).*\[\s*(\d+)%\]")
# A line of pytest about a finished test, if pytest-xdist runs several files of tests at the same time.
XDIST_LINE = re.compile(r"^\[gw\d+\] \[\s*(\d+)%\] (?:PASSED|FAILED|ERROR|SKIPPED) (\S+::.+?)\s*$")


@dataclass
class Outcome:
    """The results of one part."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    printed: dict[str, str] = field(default_factory=dict)  # failed test -> its output
    skips: list[tuple[str, str]] = field(default_factory=list)  # (test, reason)
    seconds: float = 0

    @property
    def tests(self) -> int:
        return self.passed + len(self.failures) + len(self.skips)


def read_junit(file: Path) -> Outcome:
    """Returns the counts and names in a JUnit file of ctest or pytest."""
    outcome = Outcome()
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        name = ".".join(dict.fromkeys(filter(None, (case.get("classname"), case.get("name")))))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failures.append(name)
            texts = (part.text or part.get("message") or "" for part in case if part.tag != "properties")
            outcome.printed[name] = "\n".join(text.strip("\n") for text in texts if text)
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            reason = (skipped.get("message") if skipped is not None else None) or "disabled"
            outcome.skips.append((name, " ".join(reason.split())))
        else:
            outcome.passed += 1
    return outcome


def follow(line: str) -> tuple[float, str] | None:
    """Returns (share done, test) if this line of ctest or pytest reports a finished test, else None."""
    found = CTEST_LINE.match(line)
    if found:
        return int(found[1]) / int(found[2]), found[3]
    found = XDIST_LINE.match(line)
    if found:
        return int(found[1]) / 100, found[2]
    found = PYTEST_LINE.match(line)
    return (int(found[2]) / 100, found[1]) if found else None


TEST_ENVIRONMENT = {
    "PYTHONPATH": ":".join(str(ROOT / name) for name in ("cli", "lab", "dev")),
    "PYTHONUNBUFFERED": "1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "XDG_STATE_HOME": str(STATE),
}


def _run_command(command: list[str], log: Path, advance: progress.Tell) -> int:
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


def run_part(name: str, part: Part, match: str | None, advance: progress.Tell) -> Outcome:
    """Runs a part. If no test passed or there are fewer tests than `fewest`, the part has failed, unless
    `match` selects tests."""
    start = time.monotonic()
    if part.command is None:
        outcome = _run_lint()
    else:
        junit = LOGS / f"{name}.xml"
        junit.unlink(missing_ok=True)
        code = _run_command(part.command(junit, match), LOGS / f"{name}.log", advance)
        outcome = read_junit(junit) if junit.exists() else Outcome()
        # pytest ends with 5 if no test matches.
        if code not in (0, 5) and not outcome.failures:
            outcome.failures.append(f"the runner of part {name} itself (exit code {code})")
    if not (match or outcome.failures or (outcome.passed and outcome.tests >= part.fewest)):
        expected = f"passed {outcome.passed} of {outcome.tests} tests; it should have {part.fewest} or more"
        outcome.failures.append(f"part {name} {expected}")
    outcome.seconds = time.monotonic() - start
    return outcome


def _with_progress(console: Console, name: str, part: Part, match: str | None) -> Outcome:
    """Runs a part and shows how far it is."""
    if not console.is_terminal:
        console.print(f"{name} ...")
    with progress.shown(console, name) as tell:
        return run_part(name, part, match, lambda share, test: tell(share, test[-60:]))


def _untold(share: float, name: str) -> None:
    """Ignores the progress of the part that runs in parallel; only that of the other parts is shown."""


def _print_part(console: Console, part: str, outcome: Outcome) -> None:
    counts = f"{outcome.passed} passed, {len(outcome.failures)} failed"
    if outcome.skips:
        counts += f", {len(outcome.skips)} skipped"
    color = "red" if outcome.failures else "green"
    console.print(f"[{color}]{part:<9}[/] {counts} in {outcome.seconds:.0f} s")
    log = LOGS / f"{part}.log"
    for name in outcome.failures[:FAILURES_SHOWN]:
        text = outcome.printed.get(name) or (log.read_text(errors="replace") if log.exists() else "")
        shown = [f"-- {name}:", *text.splitlines()[-LINES_SHOWN:]]
        console.print("\n".join(shown), markup=False, soft_wrap=True)


def run(parts: Mapping[str, Part], match: str | None = None) -> bool:
    """Runs the parts in their order; returns whether nothing failed. Raises OratorioError if `match` selects
    none of their tests."""
    console = Console(highlight=False)
    LOGS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(STATE, ignore_errors=True)
    outcomes: dict[str, Outcome] = {}
    with ThreadPoolExecutor(max_workers=1) as pool:
        beside: dict[str, Future[Outcome]] = {}
        if BESIDE in parts and len(parts) > 1:
            console.print(f"{BESIDE} ... (in parallel with the others)")
            beside[BESIDE] = pool.submit(run_part, BESIDE, parts[BESIDE], match, _untold)
        for name, part in parts.items():
            running = beside.get(name)
            outcomes[name] = running.result() if running else _with_progress(console, name, part, match)
            _print_part(console, name, outcomes[name])
    _print_summary(console, outcomes)
    if match and not any(outcome.tests for outcome in outcomes.values()):
        raise OratorioError(f"no test of {', '.join(parts)} has a name that matches -k {match}")
    return not any(outcome.failures for outcome in outcomes.values())


def lines_of_skips(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Returns a line for each reason, with the number of tests that were skipped for that reason and the name
    of one of them."""
    tests: dict[str, list[str]] = {}
    for part, outcome in outcomes.items():
        for test, reason in outcome.skips:
            tests.setdefault(reason, []).append(f"{part}: {test}")
    by_number = sorted(tests.items(), key=lambda item: -len(item[1]))
    return [f"skipped {len(names)}: {reason} (such as {names[0]})" for reason, names in by_number]


def _print_summary(console: Console, outcomes: dict[str, Outcome]) -> None:
    table = Table("part", "passed", "failed", "skipped", "seconds")
    for part, outcome in outcomes.items():
        counts = (outcome.passed, len(outcome.failures), len(outcome.skips))
        table.add_row(part, *map(str, counts), f"{outcome.seconds:.0f}")
    console.print(table)
    for part, outcome in outcomes.items():
        for name in outcome.failures:
            console.print(f"failed: {part}: {name}", markup=False, soft_wrap=True)
    for line in lines_of_skips(outcomes):
        console.print(line, markup=False, soft_wrap=True)
    console.print(f"logs: {LOGS.relative_to(ROOT)}/")
    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(len(outcome.failures) for outcome in outcomes.values())
    skipped = sum(len(outcome.skips) for outcome in outcomes.values())
    console.print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


def add_options(parser: Parser) -> None:
    """Adds the options of `test`."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--only", action="append", choices=testing_parts.PARTS, metavar="PART",
        help=f"Run this part; repeatable: {', '.join(testing_parts.PARTS)}.",
    )  # fmt: skip
    which.add_argument("--all", action="store_true", help="Run everything that CI runs.")
    parser.add_argument(
        "-k", dest="match", metavar="TEXT", help="Build and run only the tests whose name matches."
    )
    parser.set_defaults(does=_test)


def _test(options: argparse.Namespace) -> int:
    parts = testing_parts.parts_of(options.only, options.all)
    if options.match:
        found = testing_names.matching(parts, options.match, parts is testing_parts.SHORT)
        parts = {name: parts[name] for name in found}
    return 0 if run(parts, options.match) else 1
