# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `oratorio compare`."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
from pathlib import Path

from oratorio.command_line import Parser, add_job
from oratorio.compare import compare, page
from oratorio.document import add_json, print_document
from oratorio.errors import tell
from oratorio.report.html_page import write
from oratorio.report.run_recorder import Recorder


def add_options(parser: Parser) -> None:
    """Adds the options of `compare`."""
    parser.add_argument(
        "--method",
        metavar="METHOD,...",
        help="Compare these methods in addition to the host's MPI-IO and auto. The default is a short list "
        "of common methods.",
    )
    parser.add_argument(
        "--hint", metavar="KEY=VALUE", action="append", default=[],
        help="A hint for every file for which the program does not set it, in each run with Oratorio. "
        "Repeatable; if a key is repeated, its last value counts.",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="Compare all methods of docs/user/methods.md.")
    parser.add_argument(
        "--repeat", type=int, default=10, metavar="N",
        help="Run each method at most this many times, alternating with the host's MPI-IO; stop earlier "
        "if the confidence intervals of their times separate. %(default)s if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS",
        help="Start no further run after this time; no limit if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="SECONDS",
        help="End a run after this time and leave its row without figures; 600 if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--before", metavar="COMMAND",
        help="A shell command to run before each run, not timed, such as rm -f out.h5. Without it, each "
        "run finds the files that earlier runs left. Caches are never emptied.",
    )  # fmt: skip
    parser.add_argument(
        "--output-files", metavar="PATTERN", action="append", default=[],
        help="After each run, compare the files that match PATTERN byte by byte with those of the first run "
        "with the host's MPI-IO. Quote the pattern, as in 'out*.h5'; ** matches any number of folders. "
        "Repeatable.",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html", help="Also write an HTML page with the table."
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="Do not print the progress.")
    add_json(parser)
    add_job(parser, "The command as you would start it: mpiexec -n 16 ./app ...")
    parser.set_defaults(does=run)


def run(options: argparse.Namespace) -> int:
    """Runs the comparison. Returns the exit code of the first run that failed, TIMED_OUT if it exceeded
    --timeout. If no run failed, returns FAILED if output files differ, else 0. Raises OratorioError if
    nothing could be compared, or the page can't be written."""
    if options.repeat < 1 or options.timeout <= 0 or (options.budget is not None and options.budget <= 0):
        raise compare.CompareError("--repeat, --timeout and --budget must be more than 0")
    place = options.output.absolute().parent if options.output else Path.cwd()
    rules = compare.Rules(
        options.repeat, options.timeout, options.before, tuple(options.hint), options.budget,
        tuple(options.output_files),
    )  # fmt: skip
    arms = compare.arms_of(options.method, options.all)
    say = (lambda text: None) if options.quiet else tell
    outputs = compare.compare(arms, options.command, Recorder(place, os.environ), rules, os.environ, say)
    if options.json:
        print_document(
            "compare",
            job=options.command,
            repeat=options.repeat,
            hints=options.hint,
            **compare.document_of(arms, outputs),
        )
    else:
        print(page.table_of(arms, outputs))
    if options.output:
        write(
            page.html_of(arms, outputs, shlex.join(options.command), rules, platform.node()), options.output
        )
    return compare.exit_code_of(arms, outputs)
