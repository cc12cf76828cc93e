# SPDX-License-Identifier: BSD-3-Clause
"""`./oratorio wheel`: makes the wheel and the archive of the sources for PyPI."""

import argparse
import platform
import subprocess
import sys
from pathlib import Path

from oratorio.command_line import Parser
from oratorio.errors import OratorioError
from oratorio.paths import BUILD, ROOT
from oratorio_dev import aarch64


def make(out: Path, machine: str = platform.machine()) -> tuple[Path, Path]:
    """Makes the wheel and the archive in the folder `out`; returns their paths. Raises OratorioError
    and subprocess.CalledProcessError."""
    sys.path.insert(0, str(ROOT / "dev/release"))
    import backend  # noqa: PLC0415
    import pack  # noqa: PLC0415

    tag, strip = pack.portable_tag(machine), "strip"
    if machine == platform.machine():
        subprocess.run(["cmake", "--build", BUILD, "--target", "portable"], check=True, stdout=sys.stderr)
        libraries = BUILD / "portable"
    elif machine == aarch64.MACHINE:
        libraries, strip = aarch64.portable_libraries(), aarch64.STRIP
    else:
        raise OratorioError(f"a wheel for {machine} can only be built on such a machine")
    return pack.write_wheel(libraries, out, tag, strip), out / backend.build_sdist(out)


def add_options(parser: Parser) -> None:
    """Adds the options of `wheel`."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=ROOT / "dist",
        metavar="FOLDER",
        help="Write to this folder; dist if not given.",
    )
    parser.add_argument(
        "--machine", default=platform.machine(),
        help="The processor: x86_64, or aarch64 with Debian's cross compiler; %(default)s if not given.",
    )  # fmt: skip
    parser.set_defaults(does=_wheel)


def _wheel(options: argparse.Namespace) -> int:
    for made in make(options.output, options.machine):
        print(made)
    return 0
