# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `oratorio compare`."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import signal
import sys
from pathlib import Path

from oratorio.compare import compare, page
from oratorio.report.html_page import write
from oratorio.report.run_recorder import Recorder, RecordError, leave
from oratorio.trace.trace import TraceError

REFUSED = 2
INTERRUPTED = 130


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that only `compare` has. start.py adds those that it shares with other commands that
    start a job."""
    parser.add_argument("--methods", metavar="A,B,...", help="Instead of those that auto takes.")
    parser.add_argument("--all", action="store_true", help="Every method of docs/user/methods.md.")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="Runs of each, in turns; 1 if not given."
    )
    parser.add_argument(
        "--time-limit", type=float, default=600.0, metavar="SECONDS",
        help="A run that takes longer is ended and is a row without figures; 600 if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--before", metavar="COMMAND",
        help="A shell command before each run, not timed, so that all see the same start: rm -f out.h5. "
        "Without it nothing is undone: files of a run are there in the next. Caches are never emptied.",
    )  # fmt: skip
    parser.add_argument("-o", "--out", type=Path, metavar="FILE.html", help="The same as a page.")


def _tell(text: str) -> None:
    print(f"oratorio: {text}", file=sys.stderr)


def run(options: argparse.Namespace) -> int:
    """Runs `oratorio compare`. Returns 0 if no run failed, 1 if the program failed or ran out of time with
    some method, REFUSED if nothing could be compared or written, and INTERRUPTED after Ctrl-C."""
    if options.repeat < 1 or options.time_limit <= 0:
        _tell("--repeat and --time-limit are more than 0")
        return REFUSED
    signal.signal(signal.SIGTERM, leave)
    place = options.out.absolute().parent if options.out else Path.cwd()
    rules = compare.Rules(options.repeat, options.time_limit, options.before)
    try:
        arms = compare.arms_of(options.methods, options.all)
        recorder = Recorder(place, os.environ)
        say = (lambda text: None) if options.quiet else _tell
        compare.compare(arms, options.command, recorder, rules, os.environ, say)
    except (compare.CompareError, RecordError, TraceError) as error:
        _tell(str(error))
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    print(page.table_of(arms))
    if options.out:
        shown = page.html_of(arms, shlex.join(options.command), rules, platform.node())
        try:
            write(shown, options.out)
        except OSError as error:
            _tell(f"{options.out} can't be written: {error.strerror}; name another place")
            return REFUSED
    return 1 if any(arm.failed for arm in arms) else 0
