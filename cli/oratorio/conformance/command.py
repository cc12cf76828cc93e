# SPDX-License-Identifier: BSD-3-Clause
"""The command `oratorio conformance`: options, progress and the printed report."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from itertools import groupby
from pathlib import Path

from oratorio.command_line import Parser, add_job, within
from oratorio.conformance import conformance
from oratorio.conformance.conformance import BROKEN, OK, Outcome, Report
from oratorio.quantity import counted, left_text

WIDTH = 110  # columns of the printed report
LINE_WIDTH = 50  # the line of progress is padded to this width, to overwrite a longer line
QUIET_SECONDS = 20  # seconds between two lines of progress if standard error is not a terminal

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


def add_options(parser: Parser) -> None:
    """Adds the options of `conformance`."""
    parser.add_argument(
        "--section", action="append", default=[], metavar="NUMBER",
        help="Run the rules of this section, such as 14.4; repeatable.",
    )  # fmt: skip
    parser.add_argument("--rule", action="append", default=[], help="Run this rule; repeatable.")
    parser.add_argument(
        "--with-oratorio",
        action="store_true",
        help="Preload Oratorio; by default, test the MPI's own MPI-IO.",
    )
    parser.add_argument(
        "--long", action="store_true", help="Also run rules that take a long time or much space."
    )
    parser.add_argument("--broken", action="store_true", help="Do not print the rules that hold.")
    parser.add_argument("--mpicc", type=Path, help="The MPI's compiler, if it is not next to the launcher.")
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="Folder of the test files, which all ranks must see.",
    )
    parser.add_argument(
        "--timeout", type=within(1), default=20, metavar="SECONDS",
        help="End a rule after this time, a long rule after 30 times as long; %(default)s if not given.",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="Also write the outcomes to this file.")
    add_job(parser, "The launcher as you would use it: mpiexec -n 4", "launcher")
    parser.set_defaults(does=run)


def _section_key(outcome: Outcome) -> tuple[int, ...]:
    return tuple(int(part) for part in outcome.rule.section.split()[0].split("."))


def lines_of(report: Report, with_all: bool) -> list[str]:
    """Returns a line for each section, followed by the lines of its rules. Leaves out the rules that hold,
    unless `with_all`."""
    lines = []
    for _, group in groupby(sorted(report.outcomes, key=_section_key), key=_section_key):
        outcomes = list(group)
        section = outcomes[0].rule.section
        fine = sum(outcome.result == OK for outcome in outcomes)
        lines.append(f"{section} {TITLES.get(section, '')}: {fine} of {len(outcomes)} ok")
        for outcome in outcomes:
            if with_all or outcome.result != OK:
                word = WORDS.get(outcome.result, outcome.result)
                message = f": {outcome.message}" if outcome.message else ""
                lines.append(f"  {outcome.rule.id}: {word}{message}")
                lines += textwrap.wrap(
                    outcome.rule.sentence, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6
                )
    return lines


def summary(report: Report) -> str:
    """Returns one line with the number of rules of each outcome."""
    kinds = ("ok", "wrong", "crash", "hang", "unavailable")
    counts = [f"{report.count(kind)} {WORDS.get(kind, kind)}" for kind in kinds if report.count(kind)]
    return f"{counted(len(report.outcomes), 'rule')}: {', '.join(counts)}"


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
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "command": report.command,
        "library": report.library,
        "with_oratorio": with_oratorio,
        "remarks": report.remarks,
        "rules": rules,
    }
    return json.dumps(told, indent=1) + "\n"


class Progress:
    """Shows the number of finished rules and the remaining time: in a terminal in one line, otherwise in a
    new line every QUIET_SECONDS."""

    def __init__(self) -> None:
        self._done = self._total = 0
        self._begun = self._last = time.monotonic()

    def start(self, total: int) -> None:
        """Starts the clock for `total` rules."""
        self._total = total
        self._begun = self._last = time.monotonic()

    def advance(self, outcome: Outcome) -> None:
        """Counts a rule that has ended."""
        del outcome
        self._done += 1
        now = time.monotonic()
        text = f"{self._done} of {self._total} rules{left_text(self._done / self._total, now - self._begun)}"
        if sys.stderr.isatty():
            end = "\r" if self._done < self._total else "\n"
            print(f"{text:<{LINE_WIDTH}}", end=end, file=sys.stderr, flush=True)
        elif now - self._last >= QUIET_SECONDS:
            self._last = now
            print(text, file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> int:
    """Runs the rules and prints the report; returns 1 if any rule is broken. Raises OratorioError."""
    progress = Progress()
    report = conformance.run_rules(
        options.launcher, mpicc=options.mpicc, sections=options.section, ids=options.rule,
        with_long=options.long, with_oratorio=options.with_oratorio, seconds=options.timeout,
        folder=options.dir, started=progress.start, advance=progress.advance,
    )  # fmt: skip
    print("\n".join(lines_of(report, not options.broken)))
    print(f"{report.library}, {' '.join(options.launcher)}")
    for remark in report.remarks:
        print(remark)
    print(summary(report))
    if options.json:
        options.json.write_text(as_json(report, options.with_oratorio))
    return 1 if any(report.count(result) for result in BROKEN) else 0
