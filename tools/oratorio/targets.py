# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the build folder, built when somebody needs them."""

import subprocess
from pathlib import Path

from oratorio import building
from oratorio.paths import BUILD


class TargetError(Exception):
    """A program can't be built; the text says why."""


def build(target: str, folder: str) -> Path:
    """The program of a folder of the build, up to date. Raises TargetError."""
    with building.alone():
        told = subprocess.run(
            ["cmake", "--build", BUILD, "--target", target], capture_output=True, text=True, check=False
        )
    if told.returncode != 0:
        raise TargetError(f"{target} can't be built:\n{(told.stdout + told.stderr)[-2000:]}")
    return BUILD / folder / target
