# SPDX-License-Identifier: BSD-3-Clause
"""Runs `oratorio report`, and makes the page of `oratorio run --report`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from oratorio.command_line import Parser, add_compared
from oratorio.document import add_json, print_document
from oratorio.errors import OratorioError, tell
from oratorio.launch.launch import Launch
from oratorio.machine.room import another_with_room
from oratorio.quantity import counted
from oratorio.report import page, run_recorder
from oratorio.report.advice import advise
from oratorio.report.compared import read as read_compared
from oratorio.report.facts import Run
from oratorio.report.outcome import why_nothing
from oratorio.report.waits import rates_of, waited_for

ADVICE_MOST = 3  # at most this many pieces of advice are printed in the terminal


def add_options(parser: Parser) -> None:
    """Adds the options of `report`."""
    parser.add_argument(
        "trace", type=Path, metavar="TRACE", help="The trace of a run: the file that ORATORIO_TRACE named."
    )
    parser.add_argument(
        "--explain", type=Path, metavar="FILE", help="The .json file that ORATORIO_EXPLAIN named in that run."
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html",
        help="The output page; by default, the trace's name with the suffix .html.",
    )  # fmt: skip
    add_compared(parser)
    add_json(parser)
    parser.set_defaults(does=report_trace)


def _write(run: Run, out: Path) -> Path:
    """Writes a page to `out`, or to another folder if `out` can't be written; returns the page's path.
    Raises OratorioError if neither is possible."""
    try:
        page.write(run, out)
        return out
    except OratorioError as error:
        other = another_with_room()
        if other is None:
            raise
        tell(f"{error}; the page is in {other} instead")
        page.write(run, other / out.name)
        return other / out.name


def _summarize(run: Run, out: Path) -> None:
    """Prints the path of the page, what was recorded, and the first pieces of advice."""
    if not run.accesses and not run.dropped:
        says, do = why_nothing(run)
        tell(f"{out}: nothing was recorded: {says}; {do}")
        return
    seen = counted(run.accesses, "access")
    tell(f"{out}: {seen}; the slowest rank spent {page.seconds_text(run.io_seconds)} in them")
    for advice in advise(run)[:ADVICE_MOST]:
        tell(f"{advice.sees} {advice.tries}")


def run_and_report(
    options: argparse.Namespace, variables: Mapping[str, str], describe: Callable[[Launch], None]
) -> int:
    """Runs the command and writes a page about the run. Returns the command's own exit code, even if the
    page can't be written. Raises OratorioError if the command was not started."""
    known = read_compared(options.compared) if options.compared else None
    recorder = run_recorder.Recorder(options.report.absolute().parent, os.environ)
    with recorder.code_kept("the report was not made"):
        found, explained = recorder.attached(options.command, variables, describe)
        found.compared = known
        if options.explain:
            sys.stderr.write(explained)
        out = _write(found, options.report)
        if not options.quiet:
            _summarize(found, out)
    return recorder.exit_code


def _print_document(run: Run, out: Path) -> None:
    """Prints the figures and the advice of the page."""
    print_document(
        "report", page=str(out), ranks=run.ranks, files=sorted({file.path for file in run.files}),
        accesses=run.accesses, dropped_accesses=run.dropped, bytes=run.moved,
        rates={direction: asdict(rate) for direction, rate in rates_of(run).items()},
        waited_for=[asdict(one) for one in waited_for(run)],
        call_seconds={
            name: {str(process): seconds for process, seconds in spent.items()}
            for name, spent in run.call_seconds.items()
        },
        compared=[asdict(method) for method in run.compared.methods] if run.compared else None,
        access_seconds={str(process): asdict(spent) for process, spent in run.processes.items()},
        advice=[asdict(advice) for advice in advise(run)],
    )  # fmt: skip


def report_trace(options: argparse.Namespace) -> int:
    """Writes a page about the trace of an earlier run. Raises OratorioError."""
    run = run_recorder.read_run(options.trace, options.explain)
    out = options.output or options.trace.with_suffix(".html")
    if os.path.realpath(out) == os.path.realpath(options.trace):
        raise OratorioError(f"{out} is the trace itself; name another file with -o")
    run.compared = read_compared(options.compared) if options.compared else None
    page.write(run, out)
    if options.json:
        _print_document(run, out)
    else:
        print(out)
    return 0
