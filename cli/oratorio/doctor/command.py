# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `oratorio doctor`."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from oratorio.command_line import Parser, add_job
from oratorio.doctor import doctor, machine
from oratorio.document import add_json, print_document


def add_options(parser: Parser) -> None:
    """Adds the options of `doctor`."""
    parser.add_argument(
        "--dir", type=Path, default=Path(), metavar="FOLDER",
        help="The folder to check, where the program's files will be; the working directory if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS",
        help="End the run after this time; 60 if not given.",
    )  # fmt: skip
    parser.add_argument("--no-run", action="store_true", help="Check the command without running it.")
    add_json(parser)
    add_job(
        parser,
        "The command as you would start it: mpiexec -n 4 ./app ...; it is run once.",
        is_required=False,
    )
    parser.set_defaults(does=run)


def run(options: argparse.Namespace) -> int:
    """Runs the checks. Returns 1 if any finding is bad, else 0."""
    found = [
        *doctor.library(),
        *doctor.environment(os.environ),
        *machine.folder(options.dir, os.environ),
        *machine.shared_memory(),
        *machine.limits(),
        *machine.kernel(),
    ]
    if options.command:
        found += doctor.command(options.command)
        may_run = not options.no_run and all(one.state != doctor.BAD for one in found)
        if may_run:
            found += doctor.short_run(options.command, options.dir.absolute(), options.timeout, os.environ)
        elif not options.no_run:
            found.append(doctor.Finding(doctor.NOTE, "run", "not run: first fix what the bad lines report"))
    bad = sum(one.state == doctor.BAD for one in found)
    if options.json:
        print_document("doctor", bad=bad, findings=[asdict(one) for one in found])
        return 1 if bad else 0
    for one in found:
        print(one.line)
    told = "Found no problem." if bad == 0 else f"Problems to fix: {bad}, in the lines that begin with bad."
    if not options.command:
        told += " To check a program, too, add a command: oratorio doctor mpiexec -n 4 ./app"
    print(told)
    return 1 if bad else 0
