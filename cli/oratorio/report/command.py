# SPDX-License-Identifier: BSD-3-Clause
"""Runs `oratorio report`, and makes the page of `oratorio run --report`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from oratorio.command_line import Parser
from oratorio.errors import OratorioError
from oratorio.launch.launch import Launch, LaunchError
from oratorio.report import page, run_recorder
from oratorio.report.advice import advise
from oratorio.trace.trace import TraceError

ADVICE_MOST = 3  # at most this many pieces of advice are printed in the terminal


def add_options(parser: Parser) -> None:
    """Adds the options of `report`."""
    parser.add_argument(
        "trace", type=Path, metavar="TRACE", help="The trace, written to the file that ORATORIO_TRACE named."
    )
    parser.add_argument(
        "--explain", type=Path, metavar="FILE", help="The .json file that ORATORIO_EXPLAIN named in that run."
    )
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE.html",
        help="The page; by default it has the name of the trace with .html.",
    )  # fmt: skip
    parser.set_defaults(does=report_trace)


def _say(sentence: str) -> None:
    print(f"oratorio: {sentence}", file=sys.stderr)


def run_and_report(
    options: argparse.Namespace, variables: Mapping[str, str], tell: Callable[[Launch], None]
) -> int:
    """Runs the command and writes its page. Returns the command's own exit code, or 2 if that is 0 and the
    page cannot be written. Raises OratorioError."""
    recorder = run_recorder.Recorder(options.report.absolute().parent, os.environ)
    try:
        found, explained = recorder.attached(options.command, variables, tell)
    except LaunchError:
        raise
    except OratorioError as error:
        raise OratorioError(f"there is no report: {error}") from None
    if options.explain:
        sys.stderr.write(explained)
    try:
        page.write(found, options.report)
    except OratorioError as error:
        _say(str(error))
        return found.exit_code or error.exit_code
    if not options.quiet:
        seconds = page.seconds_text(found.io_seconds)
        _say(f"{options.report}: {found.accesses} accesses, {seconds} in them on the slowest rank")
        for advice in advise(found)[:ADVICE_MOST]:
            _say(f"{advice.sees} {advice.tries}")
    return found.exit_code or 0


def report_trace(options: argparse.Namespace) -> int:
    """Writes a page about the trace of an earlier run. Raises OratorioError."""
    out = options.out or options.trace.with_suffix(".html")
    if out.resolve() == options.trace.resolve():
        raise OratorioError(f"{out} is the trace itself; name the page with -o")
    if not options.trace.exists():
        raise TraceError(f"{options.trace} isn't there; ORATORIO_TRACE=FILE makes one, docs/user/trace.md")
    if options.explain and not options.explain.exists():
        raise TraceError(f"{options.explain} isn't there; ORATORIO_EXPLAIN=FILE.json makes one")
    page.write(run_recorder.read_run(options.trace, options.explain), out)
    print(out)
    return 0
