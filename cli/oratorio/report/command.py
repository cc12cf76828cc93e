# SPDX-License-Identifier: BSD-3-Clause
"""Runs `oratorio report`, and makes the page of `oratorio run --report`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from oratorio.launch.launch import Launch
from oratorio.report import page, run_recorder
from oratorio.report.advice import advise
from oratorio.report.facts import Run
from oratorio.trace.trace import TraceError

FAILED = 2  # exit code if there is no page
TOLD_MOST = 3  # at most this many pieces of advice are printed in the terminal


def _say(sentence: str) -> None:
    print(f"oratorio: {sentence}", file=sys.stderr)


def _write(run: Run, out: Path) -> bool:
    try:
        page.write(run, out)
    except OSError as error:
        _say(f"{out} can't be written: {error.strerror}; name another place")
        return False
    return True


def run(
    recorder: run_recorder.Recorder, options: argparse.Namespace, variables: Mapping[str, str],
    tell: Callable[[Launch], None],
) -> int:  # fmt: skip
    """Runs the command and writes its page; returns the command's own exit code if there is a page."""
    try:
        found, explained = recorder.attached(options.command, variables, tell)
    except (run_recorder.RecordError, TraceError) as error:
        _say(f"there is no report: {error}")
        return FAILED
    if options.explain:
        sys.stderr.write(explained)
    if not _write(found, options.report):
        return found.exit_code or FAILED
    if not options.quiet:
        seconds = page.seconds_text(found.io_seconds)
        _say(f"{options.report}: {found.accesses} accesses, {seconds} in them on the slowest rank")
        for advice in advise(found)[:TOLD_MOST]:
            _say(f"{advice.sees} {advice.tries}")
    return found.exit_code or 0


def of_trace(options: argparse.Namespace) -> int:
    """Writes a page about the recording of an earlier run."""
    out = options.out or options.trace.with_suffix(".html")
    if out.resolve() == options.trace.resolve():
        _say(f"{out} is the trace itself; name the page with -o")
        return FAILED
    try:
        if not options.trace.exists():
            raise TraceError(
                f"{options.trace} isn't there; ORATORIO_TRACE=FILE makes one, docs/user/trace.md"
            )
        if options.explain and not options.explain.exists():
            raise TraceError(f"{options.explain} isn't there; ORATORIO_EXPLAIN=FILE.json makes one")
        found = run_recorder.read_run(options.trace, options.explain)
    except TraceError as error:
        _say(str(error))
        return FAILED
    if not _write(found, out):
        return FAILED
    print(out)
    return 0
