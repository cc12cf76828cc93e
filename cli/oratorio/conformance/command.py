# SPDX-License-Identifier: BSD-3-Clause
"""The command `oratorio conformance`: options, progress, tables."""

import datetime
import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from typer.core import TyperGroup

from oratorio.conformance import conformance
from oratorio.conformance.conformance import BROKEN, OK, UNAVAILABLE, Outcome, Report
from oratorio.launch.launch import LaunchError

TITLES = {
    "7.7": "Attribute callbacks",
    "9.3.3": "Error handlers of files",
    "11.2.4": "Finalizing",
    "11.6": "Threads",
    "14.2.1": "Opening a file",
    "14.2.2": "Closing a file",
    "14.2.3": "Deleting a file",
    "14.2.4": "Resizing a file",
    "14.2.5": "Preallocating space",
    "14.2.6": "Querying the size",
    "14.2.7": "Querying parameters",
    "14.2.8": "File info",
    "14.3": "File views",
    "14.4.1": "Data access",
    "14.4.2": "Explicit offsets",
    "14.4.3": "Individual file pointers",
    "14.4.4": "Shared file pointers",
    "14.4.5": "Split collective data access",
    "14.5": "Interoperability",
    "14.5.1": "Datatypes for interoperability",
    "14.5.2": "external32",
    "14.5.3": "User-defined data representations",
    "14.6.1": "Consistency",
    "14.6.2": "Sequential files",
    "14.6.3": "Progress",
    "14.6.5": "Nonblocking collectives",
    "14.6.6": "Type matching",
    "14.6.7": "Clarifications",
    "14.6.8": "MPI_Offset",
    "14.6.10": "File size",
    "14.7": "Error handling",
    "14.8": "Error classes",
    "19.3.4": "Fortran handles",
    "20 (5.0)": "Integer handles",
}
WORDS = {"unavailable": "not available"}
COLOURS = {OK: "green", UNAVAILABLE: "yellow"}


class LauncherOrCommand(TyperGroup):
    """A group that passes a first word that is no subcommand to `check`: `conformance mpiexec -n 4`."""

    def parse_args(self, ctx, args):
        """Parses the arguments as click does, after adding `check` if no subcommand is given."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["check", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=LauncherOrCommand,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="What an MPI's file access does wrong: `oratorio conformance mpiexec -n 4`.",
)


def _section_key(outcome: Outcome) -> tuple:
    return tuple(int(part) for part in outcome.rule.section.split()[0].split("."))


def tables(report: Report, with_all: bool) -> list[Table | str]:
    """Returns a table for each section, of all rules or of those that do not hold; a title alone if it would
    be empty."""
    made = []
    for _, group in groupby(sorted(report.outcomes, key=_section_key), key=_section_key):
        outcomes = list(group)
        section = outcomes[0].rule.section
        fine = sum(outcome.result == OK for outcome in outcomes)
        shown = [outcome for outcome in outcomes if with_all or outcome.result != OK]
        title = f"{section} {TITLES.get(section, '')}: {fine} of {len(outcomes)} ok"
        if not shown:
            made.append(title)
            continue
        table = Table(title=title, title_justify="left", title_style="", expand=True)
        table.add_column("rule", ratio=1, min_width=20, overflow="fold")
        table.add_column("what must hold", ratio=3)
        table.add_column("result", ratio=2)
        for outcome in shown:
            word = WORDS.get(outcome.result, outcome.result)
            colour = COLOURS.get(outcome.result, "red")
            told = f": {escape(outcome.message)}" if outcome.message else ""
            table.add_row(outcome.rule.id, escape(outcome.rule.sentence), f"[{colour}]{word}[/]{told}")
        made.append(table)
    return made


def summary(report: Report) -> str:
    """Returns one line with the number of rules of each outcome."""
    kinds = ("ok", "wrong", "crash", "hang", "unavailable")
    counts = [f"{report.count(kind)} {WORDS.get(kind, kind)}" for kind in kinds if report.count(kind)]
    return f"{len(report.outcomes)} rules: {', '.join(counts)}"


def as_json(report: Report, with_oratorio: bool) -> str:
    """Returns the report as JSON, as dev/generate/conformance_doc.py reads it."""
    rules = [
        {
            "section": outcome.rule.section,
            "id": outcome.rule.id,
            "sentence": outcome.rule.sentence,
            "routines": outcome.rule.routines,
            "result": outcome.result,
            "message": outcome.message,
        }
        for outcome in report.outcomes
    ]
    told = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": report.command,
        "library": report.library,
        "with_oratorio": with_oratorio,
        "remarks": report.remarks,
        "rules": rules,
    }
    return json.dumps(told, indent=1) + "\n"


@app.command("check", context_settings={"allow_interspersed_args": False})
def check(
    launcher: Annotated[list[str], typer.Argument(help="As you start programs: mpiexec -n 4")],
    section: Annotated[
        list[str] | None, typer.Option(help="Rules of this section, such as 14.4; repeatable.")
    ] = None,
    rule: Annotated[list[str] | None, typer.Option(help="This rule; repeatable.")] = None,
    with_oratorio: Annotated[
        bool, typer.Option("--with-oratorio", help="Preload Oratorio; otherwise the MPI as it is.")
    ] = False,
    with_long: Annotated[
        bool, typer.Option("--long", help="Also rules that take long or much space.")
    ] = False,
    broken: Annotated[bool, typer.Option("--broken", help="Leave out the rules that hold.")] = False,
    mpicc: Annotated[Path | None, typer.Option(help="Its compiler, if not beside the launcher.")] = None,
    folder: Annotated[
        Path, typer.Option("--dir", help="A folder that all ranks see, to test there.")
    ] = Path(),
    seconds: Annotated[int, typer.Option(min=1, help="Time limit of a rule.")] = 20,
    to_file: Annotated[Path | None, typer.Option("--json", help="Write the outcomes there too.")] = None,
) -> None:
    """Run the rules and print a table; the exit code is 1 if any is broken."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("rules")
        try:
            report = conformance.run_rules(
                launcher, mpicc=mpicc, sections=section or (), ids=rule or (), with_long=with_long,
                with_oratorio=with_oratorio, seconds=seconds, folder=folder,
                started=lambda total: progress.update(task, total=total),
                advance=lambda outcome: progress.advance(task),
            )  # fmt: skip
        except (conformance.ConformanceError, LaunchError) as error:
            progress.stop()
            print(f"oratorio: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
    # Output to a file or a pipe gets a fixed width, because only a terminal has a width of its own.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    for table in tables(report, not broken):
        console.print(table)
    console.print(f"{report.library}, {' '.join(launcher)}", markup=False)
    for remark in report.remarks:
        console.print(remark, markup=False)
    console.print(summary(report))
    if to_file:
        to_file.write_text(as_json(report, with_oratorio))
    raise typer.Exit(1 if any(report.count(result) for result in BROKEN) else 0)
