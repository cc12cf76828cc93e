# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `oratorio learned`."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from oratorio.command_line import Parser
from oratorio.document import add_json, print_document
from oratorio.learned import times


def add_options(parser: Parser) -> None:
    """Adds the options of `learned`."""
    does = parser.add_mutually_exclusive_group()
    does.add_argument(
        "--clear", action="store_true",
        help="Remove the times, so that `auto` starts from the cost model again.",
    )  # fmt: skip
    does.add_argument(
        "--export", action="store_true",
        help="Print a hints file with the method learned for the accesses that took the most time.",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(does=run)


def run(options: argparse.Namespace) -> int:
    """Shows, removes or exports what was learned. Returns 0."""
    files = times.files_in(times.folder_of(os.environ))
    if options.clear:
        for path in files:
            path.unlink()
            print(f"removed {path}")
        if not files:
            print("Nothing has been learned yet.")
        return 0
    if options.export:
        print(times.exported([kind for path in files for kind in times.read(path)]), end="")
        return 0
    if options.json:
        found = [{"path": str(path), "kinds": [asdict(kind) for kind in times.read(path)]} for path in files]
        print_document("learned", files=found)
        return 0
    if not files:
        print("Nothing has been learned yet: jobs with less than 0.1 s of collective accesses keep no times.")
    for path in files:
        print(f"{path}:")
        for kind in times.read(path):
            print("\n".join(times.lines_of(kind)))
    return 0
