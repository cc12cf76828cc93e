# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio clients`: sets up the named kinds of clients, runs the checks or a given command on them, and
with --write updates the table in docs/user/network-file-systems.md."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from oratorio import __version__, markdown
from oratorio.command_line import Parser, within
from oratorio.errors import OratorioError
from oratorio.launch.hosts import Host, find_host
from oratorio.paths import OUT, ROOT
from oratorio_lab.clients.checks import (
    KILL,
    KILL_MODES,
    TIMED_OUT,
    Check,
    Verdict,
    checks_of,
    kills_of,
    require,
    script_of,
)
from oratorio_lab.clients.kinds import KINDS, Kind, find_kind
from oratorio_lab.clients.rig import RANKS, Clients, shell

PAGE = ROOT / "docs/user/network-file-systems.md"
BEGIN, END = "<!-- begin: oratorio clients --write -->\n", "<!-- end -->\n"
COLUMNS = ("locks", "loss", "handles", "appended", "rules", "oracle", "views")
HEADS = ("kind", "date, MPI", "locks seen: posix / OFD / flock", *COLUMNS[1:], "kills", "minutes")
CHECKS = (*COLUMNS, *(KILL + mode for mode in KILL_MODES))
SETUP_SECONDS = 400  # time limit for booting and for making and mounting the file system, before the checks


class _Progress:
    """Prints the verdict of each check as soon as the file with the exit code of the check exists."""

    def __init__(self, console: Console, checks: Sequence[Check]) -> None:
        self.console_, self.left_, self.verdicts = console, list(checks), {}
        self.begin_ = time.monotonic()

    def __call__(self, rig: Path) -> None:
        if (rig / "ready").exists() and "ready" not in self.verdicts:
            self._tell("ready", Verdict(True, "mounted on both clients"))
        while self.left_ and (rig / f"{self.left_[0].name}.code").exists():
            check = self.left_.pop(0)
            code = int((rig / f"{check.name}.code").read_text())
            output = (rig / f"{check.name}.log").read_text(errors="replace")
            self._tell(check.name, check.judge(code, output))

    def ended(self) -> dict[str, Verdict]:
        """Returns all verdicts; a check without an exit code did not end."""
        for check in self.left_:
            self._tell(check.name, Verdict(False, "did not end"))
        return self.verdicts

    def _tell(self, name: str, verdict: Verdict) -> None:
        self.verdicts[name] = verdict
        now = time.monotonic()
        color, word = ("green", "right") if verdict.is_right else ("red", "wrong")
        line = f"  [{color}]{word}[/] {name:<9} {now - self.begin_:6.1f} s  {escape(verdict.detail)}"
        self.console_.print(line, soft_wrap=True)
        self.begin_ = now


def _row(kind: Kind, host: Host, verdicts: dict[str, Verdict], seconds: float) -> str:
    """Returns the kind's row of the table, in Markdown."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    cells = [verdicts[name].detail if name in verdicts else "not run" for name in COLUMNS]
    kills = {name.removeprefix(KILL): one for name, one in verdicts.items() if name.startswith(KILL)}
    bad = [f"{name}: {one.detail}" for name, one in kills.items() if not one.is_right]
    cells.append("; ".join(bad) or (f"{len(kills)} survived" if kills else "not run"))
    told = [f"`{kind.name}`", f"{today}, `{host.name}`", *cells, f"{seconds / 60:.0f}"]
    return markdown.row(cell.replace("|", "/") for cell in told) + "\n"


def page_with(text: str, rows: dict[str, str], machine: str) -> str:
    """Returns the page with these rows in place of the old rows of the same kinds."""
    made = markdown.generated_part(text, BEGIN, END)
    kept = {line.split("`")[1]: line + "\n" for line in made.splitlines() if line.startswith("| `")}
    kept |= rows
    table = markdown.table(HEADS, ()) + "".join(kept[kind.name] for kind in KINDS if kind.name in kept)
    return markdown.with_generated_part(text, BEGIN, END, f"{machine}\n{table}")


def machine() -> str:
    """Returns the line above the table: the command and the machine that produced the results."""
    return (
        f"`./oratorio clients KIND... --write`, {RANKS} ranks, {RANKS // 2} on each client; last run with "
        f"Oratorio {__version__}, {platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}.\n"
    )


def show() -> None:
    """Prints a table of the kinds."""
    table = Table("kind", "file system", "clients")
    frames = {
        "two": "two Linux kernels in user mode",
        "namespaces": "two mounts in FUSE, no further kernel",
    }
    for kind in KINDS:
        table.add_row(kind.name, kind.title, frames[kind.frame])
    Console().print(table)


@dataclass(frozen=True)
class Choice:
    """The MPI, the number of random programs, and the checks that run on each kind of clients."""

    mpi: str
    seeds: int
    only: Sequence[str] = ()  # names of checks; empty: all


def _run_one(console: Console, kind: Kind, host: Host, choice: Choice) -> tuple[bool, str]:
    """Runs the checks of a kind; returns whether all passed, and the kind's row of the table. Raises what
    Clients and the checks raise."""
    folder = OUT / "clients" / kind.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    console.print(f"{kind.name}: {kind.title}; logs in {folder.relative_to(ROOT)}/")
    clients = Clients(kind, folder)
    begin, verdicts = time.monotonic(), {}
    for boot in (checks_of(clients, host, choice.seeds), *([check] for check in kills_of(clients, host))):
        chosen = [check for check in boot if not choice.only or check.name in choice.only]
        if not chosen:
            continue
        progress = _Progress(console, chosen)
        limit = SETUP_SECONDS + sum(check.seconds for check in chosen)
        clients.run(script_of(chosen), limit, watch=progress)
        verdicts |= progress.ended()
    is_right = all(verdict.is_right for verdict in verdicts.values())
    return is_right, _row(kind, host, verdicts, time.monotonic() - begin)


def run(names: Sequence[str], choice: Choice, with_write: bool) -> bool:
    """Runs the checks of the named kinds; returns whether all passed. Raises OratorioError."""
    if choice.only and with_write:
        raise OratorioError("--write replaces whole rows: leave out --only")
    kinds, host = [find_kind(name) for name in names], find_host(choice.mpi)
    require(host)
    console, is_right = Console(highlight=False), True
    for kind in kinds:
        is_good, row = _run_one(console, kind, host, choice)
        is_right = is_right and is_good
        if with_write:
            PAGE.write_text(page_with(PAGE.read_text(), {kind.name: row}, machine()))
    return is_right


class _Output:
    """Prints what the command has written to its output so far."""

    def __init__(self) -> None:
        self.printed_ = 0

    def __call__(self, rig: Path) -> None:
        if (output := rig / "output").exists():
            with output.open(errors="replace") as file:
                file.seek(self.printed_)
                print(file.read(), end="", flush=True)
                self.printed_ = file.tell()


def run_command(names: Sequence[str], command: str, mpi: str, seconds: int) -> int:
    """Runs a shell command in the checkout, on the first client of each named kind. The command gets two
    variables: $CLIENT is the folder that the clients share, and $LAUNCH has the words that start ranks with
    Oratorio on both clients. Returns the first exit code that is not 0, or 0. Raises OratorioError."""
    host, first_failure = find_host(mpi), 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="oratorio-clients-") as folder:
            clients = Clients(find_kind(name), Path(folder))
            launch = shlex.quote(shell(clients.launcher(host)))
            lines = f"cd {shlex.quote(str(ROOT))} && export LAUNCH={launch}\n{command}"
            ended = clients.run(lines, seconds, watch=_Output())
        if ended.code == TIMED_OUT:
            print(f"still running after {seconds} s (--timeout)", file=sys.stderr)
        first_failure = first_failure or ended.code
    return first_failure


def add_options(parser: Parser) -> None:
    """Adds the options of `clients`."""
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help="Kinds of clients, or `all`; prints a list if not given."
    )
    parser.add_argument(
        "--mpi",
        default="mpich5",
        metavar="NAME",
        help="An MPI by its name in `oratorio info`; %(default)s if not given.",
    )
    parser.add_argument(
        "--only", action="append", default=[], choices=CHECKS, metavar="CHECK",
        help="Run only this check; repeatable.",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=within(1), default=200,
        help="Number of random programs of the oracle; %(default)s if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--write", action="store_true", help="Write the results into docs/user/network-file-systems.md."
    )
    parser.add_argument(
        "--run", metavar="COMMAND",
        help="Run this shell command on the first client in place of the checks. $CLIENT is the folder that "
        "the clients share, and $LAUNCH starts 4 ranks with Oratorio, 2 on each client.",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=within(1), default=600, metavar="SECONDS",
        help="Time limit of the command of --run, with the setup; %(default)s if not given.",
    )  # fmt: skip
    parser.set_defaults(does=_clients)


def _clients(options: argparse.Namespace) -> int:
    if not options.kinds:
        show()
        return 0
    names = [kind.name for kind in KINDS] if options.kinds == ["all"] else options.kinds
    if options.run:
        if options.only or options.write:
            raise OratorioError("--run replaces the checks: leave out --only and --write")
        return run_command(names, options.run, options.mpi, options.timeout)
    return 0 if run(names, Choice(options.mpi, options.seeds, options.only), options.write) else 1
