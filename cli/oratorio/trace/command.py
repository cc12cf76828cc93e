# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio trace`: shows the accesses of a run from the trace that ORATORIO_TRACE wrote."""

from __future__ import annotations

import argparse
from pathlib import Path

from oratorio.command_line import Parser
from oratorio.document import add_json, print_document
from oratorio.trace import plot, table, trace


def add_options(parser: Parser) -> None:
    """Adds the options of `trace`."""
    parser.add_argument("path", type=Path, metavar="FILE", help="The trace file that ORATORIO_TRACE named.")
    parser.add_argument("--markdown", action="store_true", help="Print the tables in Markdown.")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.png",
        help="Draw a timeline of the first file, with a row for each rank (at most 64), into this picture.",
    )
    parser.add_argument("--file", metavar="TEXT", help="Show only files whose path contains TEXT.")
    add_json(parser)
    parser.set_defaults(does=_trace)


def _trace(options: argparse.Namespace) -> int:
    files = trace.files_named(trace.read(options.path), options.file)
    if options.plot:
        plot.draw(files[0], options.plot)
    if options.json:
        print_document("trace", files=[table.document_of(file) for file in files])
        return 0
    print(table.markdown(files) if options.markdown else table.text(files))
    return 0
