# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `oratorio calibrate`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from oratorio.calibrate import calibrate, switches
from oratorio.calibrate.messages import Sender, find_sender
from oratorio.command_line import Parser, add_job
from oratorio.errors import tell
from oratorio.machine.costs import costs_folder, in_force
from oratorio.progress import lines
from oratorio.text_table import aligned


def add_options(parser: Parser) -> None:
    """Adds the options of `calibrate`."""
    parser.add_argument(
        "--dir", type=Path, default=Path(), metavar="FOLDER", help="A folder on the file system to measure."
    )
    parser.add_argument(
        "--mpi", metavar="NAME",
        help="The MPI that sends messages: mpich, openmpi, a name that `oratorio info` prints, or a folder. "
        "With a launcher: the MPI of its ranks, if its library is neither next to the launcher nor in "
        "LD_LIBRARY_PATH.",
    )  # fmt: skip
    parser.add_argument(
        "--show", action="store_true", help="Only print the costs in force and the file that they come from."
    )
    parser.add_argument(
        "--topology", type=Path, metavar="FILE",
        help="Only measure the latency between the nodes of the launcher's ranks, and write to FILE which of "
        "them share a network switch, for ORATORIO_TOPOLOGY.",
    )  # fmt: skip
    # Release 0.2 compiled the measurement of messages.
    parser.add_argument("--mpicxx", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    add_job(
        parser,
        "A launcher that starts ranks to send messages, also between nodes: mpiexec -n 4",
        "launcher",
        False,
    )
    parser.set_defaults(does=run)


def run(options: argparse.Namespace) -> int:
    """Runs `oratorio calibrate`."""
    if options.mpicxx:
        tell("--mpicxx has no effect: nothing is compiled any more")
    if options.show:
        show(options.dir)
    elif options.topology:
        find_switches(options.topology, options.launcher, options.mpi)
    else:
        measure(options.dir, find_sender(options.mpi, options.launcher), options.quick)
    return 0


def table(built_in: Mapping[str, calibrate.Constant], values: Mapping[str, float], column: str) -> list[str]:
    """Returns the lines of a table with a row for each constant."""
    rows = [("constant", "built-in", column, "ns for ...")]
    for name, constant in built_in.items():
        value = f"{values[name]:.4g}" if name in values else "-"
        rows.append((name, f"{constant.value:.4g}", value, constant.meaning))
    return aligned(rows, left=(0, 3))


def show(folder: Path) -> None:
    """Prints the costs in force for files in `folder`."""
    if not folder.is_dir():
        raise calibrate.CalibrateError(f"{folder} is not a folder")
    place = calibrate.place_of(folder)
    built_in, _ = calibrate.read_costs(folder, "")
    text, source = in_force(os.environ, place.names)
    constants, warnings = calibrate.read_costs(folder, text)
    print(*table(built_in, {name: c.value for name, c in constants.items()}, "in force"), sep="\n")
    origin = source or "built in: `oratorio calibrate` has not been run for this file system"
    print(f"{place.machine}, {place.file_system}: {origin}")
    for warning in warnings:
        tell(warning)


def find_switches(file: Path, launcher: Sequence[str], mpi: str | None) -> None:
    """Writes the table of switches of the nodes on which `launcher` starts ranks."""
    sender = find_sender(mpi, launcher) if launcher else None
    if sender is None:
        raise calibrate.CalibrateError(
            f"--topology needs a launcher that starts ranks on the nodes, such as: oratorio calibrate "
            f"--topology {file} mpiexec -n 8 -ppn 1"
        )
    calibrate.check_writable(file.resolve().parent)
    print(switches.write(file, switches.measure(sender)))
    print(f"switches written to {file}; programs use them with ORATORIO_TOPOLOGY={file.resolve()}")


def measure(folder: Path, sender: Sender | None, quick: bool) -> None:
    """Measures, writes the file of costs, and prints the built-in and the measured values."""
    folder = folder.resolve()
    calibrate.check_writable(folder)
    costs = costs_folder(os.environ)
    if costs is None:
        raise calibrate.CalibrateError(
            "there is no folder for the costs; set ORATORIO_COSTS, XDG_CACHE_HOME or HOME"
        )
    calibrate.make_folder(costs)
    place = calibrate.place_of(folder)
    built_in, _ = calibrate.read_costs(folder, "")
    tell("measuring; this takes about 10 s, or minutes if the storage is slow ...")
    found = calibrate.measure_all(folder, sender, quick, lines(tell))
    file = costs / place.names[0]
    calibrate.keep_those_between_nodes(found, file)
    calibrate.write_costs(file, found, built_in)
    print(*table(built_in, found.values, "measured"), sep="\n")
    for name in built_in:
        if name not in found.values:
            reason = found.kept.get(name, "not measured")
            print(f"{name} keeps its built-in value: {reason}", file=sys.stderr)
    print(f"{place.machine}, {place.file_system}: costs written to {file}")
