# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio neighbours`: runs the neighbours (programs and libraries that share a job with Oratorio) and
unchanged applications, prints a line about each, and with --write replaces the tables in
docs/user/neighbours.md and docs/user/applications.md."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from oratorio import __version__, markdown
from oratorio.command_line import Parser
from oratorio.errors import OratorioError
from oratorio.launch.hosts import find_hosts
from oratorio.paths import ROOT
from oratorio_lab.interop import application_page, releases, rust
from oratorio_lab.interop.model import (
    OK,
    SKIPPED,
    WRONG,
    MissingError,
    Neighbour,
    Outcome,
    WrongError,
    matching,
)
from oratorio_lab.interop.table import ABSENT, NEIGHBOURS

PAGE = ROOT / "docs/user/neighbours.md"
BEGIN, END = "<!-- begin: oratorio neighbours --write -->\n", "<!-- end -->\n"
LIBRARIES, APPLICATIONS = "libraries", "applications"
COLORS = {OK: "green", SKIPPED: "yellow", WRONG: "red"}


def look(neighbour: Neighbour) -> Outcome:
    """Runs a neighbour in a temporary folder and returns the outcome."""
    version = ""
    with releases.scratch(str(os.getpid())) as folder:
        try:
            version = neighbour.version()
            return Outcome(neighbour, OK, version, neighbour.run(folder))
        except MissingError as missing:
            return Outcome(neighbour, SKIPPED, version, str(missing))
        except WrongError as wrong:
            return Outcome(neighbour, WRONG, version, str(wrong))


def fetch() -> None:
    """Fetches what the neighbours need: 1.1 GB of packages of two releases of Debian, and libclang from
    PyPI."""
    for release in releases.RELEASES:
        releases.fetch(release)
    rust.fetch()


def table_of(outcomes: Iterable[Outcome]) -> str:
    """Returns the table of outcomes and the table of ABSENT, in Markdown."""
    rows = (
        (
            one.neighbour.name, one.version, one.neighbour.had, f"`{one.neighbour.mpi}`",
            one.neighbour.tried, f"{'' if one.state == OK else one.state + ': '}{one.says}",
        )
        for one in outcomes
    )  # fmt: skip
    tried = markdown.table(("neighbour", "version", "from", "MPI", "what ran", "with Oratorio"), rows)
    absent = ((one.name, one.why, one.instead) for one in ABSENT)
    return tried + "\n" + markdown.table(("not available here", "why", "instead"), absent)


def _mpis(outcomes: Sequence[Outcome]) -> str:
    """Returns the name and version of each MPI on which a neighbour ran."""
    used = dict.fromkeys(one.neighbour.mpi for one in outcomes if one.state != SKIPPED)
    names = {release.name: release.host for release in releases.RELEASES}
    told = []
    for name in used:
        host = names[name]() if name in names else next(h for h in find_hosts() if h.name == name)
        kind = "Open MPI" if host.flavour == "ompi" else "MPICH"
        told.append(
            f"`{name}` {kind} {host.version}" + (", the standard ABI" if host.flavour == "abi" else "")
        )
    return "; ".join(told)


def write(outcomes: Sequence[Outcome]) -> None:
    """Replaces the tables in docs/user/neighbours.md."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{platform.machine()}, Linux {platform.release()}"
    made = f"`./oratorio neighbours --write`, {today}, Oratorio {__version__}, {machine}, three ranks.\n"
    made += f"The MPIs: {_mpis(outcomes)}.\n\n"
    page = markdown.with_generated_part(PAGE.read_text(), BEGIN, END, made + table_of(outcomes))
    PAGE.write_text(page)


def run(match: str | None, with_fetch: bool, with_write: bool) -> bool:
    """Runs the neighbours with `match` in their name or MPI, and prints the outcomes; returns whether none is
    wrong. Raises SourceError if fetching fails."""
    if with_fetch:
        fetch()
    console, outcomes = Console(highlight=False), []
    for neighbour in matching(NEIGHBOURS, match):
        outcomes.append(look(neighbour))
        one = outcomes[-1]
        place = f"{neighbour.name} {one.version} on {neighbour.mpi}"
        color = COLORS[one.state]
        console.print(f"[{color}]{one.state:<7}[/] {escape(place)}: {escape(one.says)}", soft_wrap=True)
    table = Table("not available here", "why", "instead")
    for absent in ABSENT:
        table.add_row(absent.name, absent.why, escape(absent.instead))
    console.print(table)
    if with_write:
        write(outcomes)
    return all(one.state != WRONG for one in outcomes)


def add_options(parser: Parser) -> None:
    """Adds the options of `neighbours`."""
    parser.add_argument(
        "-k", dest="match", metavar="TEXT", help="Run only rows with this text in their name or MPI."
    )
    parser.add_argument(
        "--fetch",
        action="store_true",
        help="First fetch newer libraries from Debian, and libclang from PyPI.",
    )
    parser.add_argument(
        "--part", choices=(LIBRARIES, APPLICATIONS), help="Run only this part; both if not given."
    )
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N",
        help="Number of timed runs of each application with each MPI-IO; %(default)s if not given. With 0, "
        "only the files are compared.",
    )  # fmt: skip
    parser.add_argument(
        "--write", action="store_true",
        help="Write the tables into docs/user/neighbours.md and docs/user/applications.md.",
    )  # fmt: skip
    parser.set_defaults(does=_neighbours)


def _neighbours(options: argparse.Namespace) -> int:
    if options.write and options.match:
        raise OratorioError("--write replaces whole tables: leave out -k")
    if options.repeat < 0:
        raise OratorioError("--repeat must be 0 or more")
    is_right = True
    if options.part != APPLICATIONS:
        is_right = run(options.match, options.fetch, options.write)
    if options.part != LIBRARIES:
        is_right &= application_page.run(options.match, options.repeat, options.write)
    return 0 if is_right else 1
