# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `oratorio demo` in an installation, which runs `oratorio compare` on checkpoint.py.

In a checkout, the command runs a demo with parallel HDF5 instead (oratorio_lab.demo).
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from oratorio.command_line import Parser, add_job, call, within
from oratorio.errors import OratorioError, tell
from oratorio.launch.hosts import launcher_in_path

PROGRAM = Path(__file__).with_name("checkpoint.py")
RANKS = 8
REPEATS = 3


def add_options(parser: Parser) -> None:
    """Adds the options of `demo`."""
    parser.add_argument(
        "--dir", type=Path, default=Path(), metavar="FOLDER", help="The folder for the checkpoints."
    )
    parser.add_argument(
        "--python", default=sys.executable, metavar="PYTHON",
        help="A Python with mpi4py for the MPI of the launcher; the one that runs this command if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--cells", type=within(8), default=64,
        help="Edge of a rank's block, in cells of 8 bytes; %(default)s if not given.",
    )  # fmt: skip
    parser.add_argument(
        "--steps", type=within(1), default=3, help="Checkpoints to write; %(default)s if not given."
    )
    add_job(
        parser, "The launcher of the ranks: mpiexec -n 4. If not given, the mpiexec in PATH starts 8 ranks.",
        "launcher", False,
    )  # fmt: skip
    parser.set_defaults(does=_demo)


def require_mpi4py(python: str) -> None:
    """Raises OratorioError if `python` can't be started or has no mpi4py."""
    find = "import importlib.util as u, sys; sys.exit(u.find_spec('mpi4py') is None)"
    try:
        code = subprocess.run([python, "-c", find], capture_output=True, check=False).returncode
    except OSError as error:
        raise OratorioError(f"{python} can't be started: {error.strerror}") from None
    if code:
        raise OratorioError(
            f"the demo needs mpi4py, which {python} doesn't have: run {python} -m pip install mpi4py, or "
            "name another Python with --python"
        )


def _demo(options: argparse.Namespace) -> int:
    if not options.dir.is_dir():
        raise OratorioError(f"{options.dir} is not a folder")
    launcher = options.launcher or launcher_in_path(RANKS)
    if not launcher:
        raise OratorioError("there is no mpiexec in PATH; name a launcher: oratorio demo mpiexec -n 4")
    require_mpi4py(options.python)
    with tempfile.TemporaryDirectory(prefix="oratorio-demo-", dir=options.dir.resolve()) as folder:
        job = [*launcher, options.python, str(PROGRAM), folder, str(options.cells), str(options.steps)]
        options_of_compare = [
            "--method",
            "auto",
            "--repeat",
            str(REPEATS),
            "--output-files",
            f"{folder}/*.dat",
        ]
        words = ["compare", *options_of_compare, *job]
        tell(f"oratorio {shlex.join(words)}")
        return call(words)
