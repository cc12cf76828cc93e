# SPDX-License-Identifier: BSD-3-Clause
"""Runs the applications of `oratorio neighbours`, prints the outcomes, and writes the table into
docs/user/applications.md."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from oratorio import __version__, markdown
from oratorio.launch.hosts import find_host
from oratorio.paths import ROOT
from oratorio.quantity import counted
from oratorio_lab.interop import releases
from oratorio_lab.interop.application_table import APPLICATIONS
from oratorio_lab.interop.applications import RANKS, Application, Measured, measure
from oratorio_lab.interop.model import OK, SKIPPED, WRONG, MissingError, WrongError, matching
from oratorio_lab.interop.trial import system_version

PAGE = ROOT / "docs/user/applications.md"
BEGIN, END = "<!-- begin: oratorio neighbours --part applications --write -->\n", "<!-- end -->\n"
HEADS = (
    "application", "version", "package", "MB", "what ran", "files", "accesses seen",
    "MPI-IO of the host", "with Oratorio", "host / Oratorio",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The outcome of running an application. `measured` is None unless `state` is OK."""

    application: Application
    state: str  # OK, SKIPPED or WRONG
    version: str = ""
    says: str = ""  # why it was skipped, or what is wrong
    measured: Measured | None = None


def look(application: Application, repeat: int) -> Outcome:
    """Runs an application in a temporary folder and returns the outcome."""
    version = ""
    with releases.scratch(f"{os.getpid()}-{application.package}") as folder:
        try:
            version = system_version(application.package)
            for package in application.needs:
                system_version(package)
            return Outcome(application, OK, version, measured=measure(application, folder, repeat))
        except MissingError as missing:
            return Outcome(application, SKIPPED, version, str(missing))
        except WrongError as wrong:
            return Outcome(application, WRONG, version, str(wrong))


def _times(measured: Measured) -> tuple[str, str, str]:
    """Returns the time in MPI-IO of the host and of Oratorio, and their ratio, as text."""
    if measured.host is None or measured.oratorio is None:
        return "", "", ""
    name, seconds = measured.host
    ratio = f"{seconds / measured.oratorio:.2f}" if measured.oratorio else ""
    return f"{1000 * seconds:.1f} ms ({name})", f"{1000 * measured.oratorio:.1f} ms", ratio


def table_of(outcomes: Sequence[Outcome]) -> str:
    """Returns the table in Markdown."""
    rows = []
    for one in outcomes:
        named = (one.application.name, one.version, f"`{one.application.package}`", one.application.size)
        if one.measured is None:
            rows.append((*named, one.application.tried, f"{one.state}: {one.says}", "", "", "", ""))
            continue
        count = f"{one.measured.files} equal"
        seen = str(one.measured.accesses)
        rows.append((*named, one.application.tried, count, seen, *_times(one.measured)))
    return markdown.table(HEADS, rows)


def _text_of(outcome: Outcome) -> str:
    if outcome.measured is None:
        return outcome.says
    files, accesses = outcome.measured.files, outcome.measured.accesses
    told = f"{counted(files, 'equal file')}, {counted(accesses, 'access')} seen"
    theirs, ours, ratio = _times(outcome.measured)
    return f"{told}; in MPI-IO {theirs}, with Oratorio {ours}, ratio {ratio}" if ratio else told


def _processor() -> str:
    """Returns the name of the processor."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def write(outcomes: Sequence[Outcome], repeat: int) -> None:
    """Replaces the table in docs/user/applications.md."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    mpis = sorted({one.application.mpi for one in outcomes if one.state != SKIPPED})
    versions = ", ".join(f"`{name}` {find_host(name).version}" for name in mpis)
    machine = f"{os.cpu_count()} cores ({_processor()}), Linux {platform.release()}"
    command = f"`./oratorio neighbours --part applications --repeat {repeat} --write`"
    timed = (
        f"; medians of {repeat} runs in turns"
        if repeat
        else "; the files were compared, nothing was measured"
    )
    made = (
        f"{command}, {today}, Oratorio {__version__}, {machine}, load {os.getloadavg()[1]:.1f}.\n"
        f"{RANKS} ranks, {versions}{timed}.\n\n"
    )
    PAGE.write_text(markdown.with_generated_part(PAGE.read_text(), BEGIN, END, made + table_of(outcomes)))


def run(match: str | None, repeat: int, with_write: bool) -> bool:
    """Runs the applications; returns whether none is wrong."""
    console, outcomes = Console(highlight=False), []
    colors = {OK: "green", SKIPPED: "yellow", WRONG: "red"}
    for application in matching(APPLICATIONS, match):
        one = look(application, repeat)
        outcomes.append(one)
        place = f"{application.name} {one.version} on {application.mpi}"
        line = f"[{colors[one.state]}]{one.state:<7}[/] {escape(place)}: {escape(_text_of(one))}"
        console.print(line, soft_wrap=True)
    skipped = [one.application for one in outcomes if one.state == SKIPPED]
    missing = dict.fromkeys(package for one in skipped for package in (one.package, *one.needs))
    if missing:
        console.print(f"Install as root: apt-get install --no-install-recommends {' '.join(missing)}")
    if with_write:
        write(outcomes, repeat)
    return all(one.state != WRONG for one in outcomes)
