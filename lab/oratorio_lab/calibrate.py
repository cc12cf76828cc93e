# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio calibrate` of a checkout, which also writes machines for `oratorio simulate`."""

import argparse
from pathlib import Path

from oratorio.calibrate import command
from oratorio.command_line import Parser
from oratorio_lab.simulate import machine_export


def add_options(parser: Parser) -> None:
    """Adds the options of `calibrate`."""
    command.add_options(parser)
    parser.add_argument(
        "--machine", type=Path, metavar="FILE.toml",
        help="Also write the costs in force as a machine file for `simulate`.",
    )  # fmt: skip
    parser.set_defaults(does=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    command.run(options)
    if options.machine:
        print(machine_export.write(options.machine, options.dir))
    return 0
