# SPDX-License-Identifier: BSD-3-Clause
"""The results of the suites, in a TOML file for the tests and on a page for people.

The results are measured; the reasons for what does not pass are written by hand, in NOTES.
"""

import json
import platform
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from oratorio.launch.hosts import find_host
from oratorio.markdown import row
from oratorio.paths import ROOT
from oratorio_lab.suites.model import ALL, ARMS, PASS, SKIP, Suite

RESULTS = ROOT / "tests/programs/conformance.toml"
NOTES = ROOT / "tests/programs/conformance_notes.toml"
PAGE = ROOT / "docs/research/conformance.md"
ARM_TITLES = {"host": "own", "oratorio": "Oratorio"}

# suite -> test -> host -> arm -> outcome
Outcomes = dict[str, dict[str, dict[str, dict[str, str]]]]


@dataclass(frozen=True)
class Note:
    """The reason why some tests do not pass."""

    suite: str
    hosts: tuple[str, ...]
    arms: tuple[str, ...]
    tests: tuple[str, ...]
    text: str

    def covers(self, suite: str, test: str, host: str, arm: str) -> bool:
        """Returns whether the note explains why that test does not pass there."""
        return suite == self.suite and host in self.hosts and arm in self.arms and test in self.tests


@dataclass(frozen=True)
class Run:
    """A run of a suite on a host, from which some of the results come."""

    suite: str
    host: str
    part: str  # ALL, QUICK or SLOW
    command: str
    day: str
    machine: str


def run_of_today(suite: str, host: str, part: str, words: list[str]) -> Run:
    """Returns the record of a run of `oratorio WORDS` on this machine today."""
    machine = f"{platform.machine()}, {platform.system()} {platform.release()}"
    return Run(suite, host, part, f"./oratorio {shlex.join(words)}", str(date.today()), machine)


def with_run(runs: list[Run], run: Run) -> list[Run]:
    """Returns the new run and those old runs that still have results, because the new run does not replace
    them."""
    kept = [
        old
        for old in runs
        if (old.suite, old.host) != (run.suite, run.host) or run.part not in (ALL, old.part)
    ]
    return [*kept, run]


def _load(file: Path) -> dict:
    return tomllib.loads(file.read_text()) if file.exists() else {}


def load_outcomes(file: Path = RESULTS) -> Outcomes:
    """Returns the committed results; empty if there are none."""
    return {suite: tests for suite, tests in _load(file).items() if suite != "run"}


def load_runs(file: Path = RESULTS) -> list[Run]:
    """Returns the runs that the committed results come from."""
    return [Run(**told) for told in _load(file).get("run", [])]


def load_notes(file: Path = NOTES) -> list[Note]:
    """Returns the notes on tests that do not pass, in the order of the file."""
    return [
        Note(
            suite=note["suite"], hosts=tuple(note["hosts"]), arms=tuple(note["arms"]),
            tests=tuple(note["tests"]), text=note["text"],
        )
        for note in _load(file).get("note", [])
    ]  # fmt: skip


def every(outcomes: Outcomes) -> Iterator[tuple[str, str, str, str, str]]:
    """Yields (suite, test, host, arm, outcome) of all results."""
    for suite, tests in outcomes.items():
        for test, hosts in tests.items():
            for host, arms in hosts.items():
                for arm, outcome in arms.items():
                    yield suite, test, host, arm, outcome


def _open_places(outcomes: Outcomes) -> list[tuple[str, str, str, str]]:
    """Returns (suite, test, host, arm) of everything that does not pass."""
    return [(*place, arm) for *place, arm, outcome in every(outcomes) if outcome != PASS]


def unexplained(outcomes: Outcomes, notes: list[Note]) -> list[tuple[str, str, str, str]]:
    """Returns (suite, test, host, arm) of everything that neither passes nor has a note."""
    return [place for place in _open_places(outcomes) if not any(note.covers(*place) for note in notes)]


def stale(outcomes: Outcomes, notes: list[Note]) -> list[str]:
    """Returns `suite/test` of notes on tests that pass wherever the note applies, or that do not exist."""
    places = _open_places(outcomes)
    return [
        f"{note.suite}/{test}"
        for note in notes
        for test in note.tests
        if not any(place[1] == test and note.covers(*place) for place in places)
    ]


def behind(outcomes: Outcomes) -> list[tuple[str, str, str]]:
    """Returns (suite, test, host) of tests that pass with the host's own MPI-IO and not with Oratorio."""
    return [
        (suite, test, host)
        for suite, tests in outcomes.items()
        for test, hosts in tests.items()
        for host, arms in hosts.items()
        if arms.get("host") == PASS and arms.get("oratorio", PASS) != PASS
    ]


def count(outcomes: Outcomes, suite: str, host: str, arm: str) -> str:
    """Returns `passed of all`; tests that the suite itself skips are not counted."""
    tests = outcomes.get(suite, {}).values()
    found = Counter(hosts[host][arm] for hosts in tests if arm in hosts.get(host, {}))
    all_of_them = found.total() - found[SKIP]
    return f"{found[PASS]} of {all_of_them}" if all_of_them else ""


# --- files ---


def write_outcomes(outcomes: Outcomes, runs: list[Run], file: Path = RESULTS) -> None:
    """Writes the TOML file: a line for each test, then the runs."""
    lines = ["# Made by `oratorio conformance suites --write`: outcome of each test, by host and MPI-IO."]
    for suite, tests in outcomes.items():
        lines += ["", f"[{suite}]"]
        for test, hosts in tests.items():
            told = [
                f"{host} = {{ " + ", ".join(f'{arm} = "{arms[arm]}"' for arm in ARMS if arm in arms) + " }"
                for host, arms in hosts.items()
            ]
            lines.append(f'"{test}" = {{ {", ".join(told)} }}')
    for run in runs:
        lines += ["", "[[run]]", *(f"{key} = {json.dumps(value)}" for key, value in asdict(run).items())]
    file.write_text("\n".join(lines) + "\n")


def _hosts_of(tests: dict[str, dict[str, dict[str, str]]]) -> list[str]:
    return list(dict.fromkeys(host for hosts in tests.values() for host in hosts))


def _heads(hosts: list[str]) -> list[str]:
    return [f"{host}: {ARM_TITLES[arm]}" for host in hosts for arm in ARMS]


def _runs_told(suite: str, runs: list[Run]) -> list[str]:
    """Returns a line for each command, with the hosts it ran on."""
    hosts: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        if run.suite == suite:
            hosts.setdefault((run.command, run.day, run.machine), []).append(run.host)
    return [
        f"- `{command}` on {' and '.join(names)}, {day}, {machine}"
        for (command, day, machine), names in hosts.items()
    ]


def _suite_section(suite: Suite, outcomes: Outcomes, runs: list[Run], notes: list[Note]) -> list[str]:
    tests = outcomes[suite.name]
    hosts = _hosts_of(tests)
    lines = [f"## {suite.title}", ""]
    if suite.archive:
        lines += [f"`{suite.archive.file}`, SHA-256 `{suite.archive.sha256}`.", ""]
    if suite.remark:
        lines += [suite.remark, ""]
    lines += ["Run by:", *_runs_told(suite.name, runs), ""]
    heads = ["test", *_heads(hosts), "why"]
    lines += [row(heads), row(["---"] * len(heads))]
    for test, found in tests.items():
        cells = [found.get(host, {}).get(arm, "") for host in hosts for arm in ARMS]
        numbers = [
            f"[{number}]"
            for number, note in enumerate(notes, 1)
            if any(
                note.covers(suite.name, test, host, arm) and found.get(host, {}).get(arm, PASS) != PASS
                for host in hosts
                for arm in ARMS
            )
        ]
        lines.append(row([f"`{test}`", *cells, " ".join(numbers)]))
    return [*lines, ""]


def _summary(suites: list[Suite], outcomes: Outcomes) -> list[str]:
    rows = [row(("suite", "host", "passed with its own MPI-IO", "passed with Oratorio")), "|---|---|---|---|"]
    for suite in suites:
        for host in _hosts_of(outcomes[suite.name]):
            mpi = find_host(host)
            name = f"{'Open MPI' if mpi.flavour == 'ompi' else 'MPICH'} {mpi.version} (`{host}`)"
            rows.append(row([suite.title, name, *(count(outcomes, suite.name, host, arm) for arm in ARMS)]))
    return rows


def write_page(suites: tuple[Suite, ...], outcomes: Outcomes, runs: list[Run], file: Path = PAGE) -> None:
    """Writes docs/research/conformance.md."""
    notes = load_notes()
    present = [suite for suite in suites if outcomes.get(suite.name)]
    lines = [
        "# Conformance",
        "",
        "MPI-IO tests of other projects, downloaded from the package registries and run unchanged, "
        "once with the "
        "host's own MPI-IO and once with Oratorio preloaded. Made by `oratorio conformance suites --write`; "
        "`tests/programs/test_suites.py` runs the quick ones with every change and compares. "
        "Sources, programs "
        "and scratch files are in `.oratorio/conformance` (or the folder `ORATORIO_CONFORMANCE` names).",
        "",
        "There are more ranks than cores, so MPICH runs with its setting to yield the core when "
        "polling finds nothing; MPICH 4 has no such setting, and `cli/oratorio/launch/yielding.c` "
        "makes it yield, with its own MPI-IO and with Oratorio.",
        "",
        *_summary(present, outcomes),
        "",
        "`pass`, `fail`, `timeout` (still running at the test's limit: 120 s, slow ones 240 s, HDF5 "
        "and Python "
        "300 s), `not built` (it does not compile with that MPI), `skip` (the test itself reports "
        "that it can't run).",
        "",
    ]
    for suite in present:
        lines += _suite_section(suite, outcomes, runs, notes)
    lines += ["## Why", ""]
    lines += [f"{number}. {note.text}" for number, note in enumerate(notes, 1)]
    left = unexplained(outcomes, notes)
    if left:
        lines += ["", "Without a reason yet: " + ", ".join(f"`{' '.join(place)}`" for place in left) + "."]
    file.write_text("\n".join(lines) + "\n")
