# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the build folder, built when somebody needs them."""

import fcntl
import subprocess
from pathlib import Path

from oratorio.paths import BUILD, PRIVATE


class TargetError(Exception):
    """A program can't be built; the text says why."""


def build(target: str, folder: str) -> Path:
    """The program of a folder of the build, up to date. Raises TargetError."""
    PRIVATE.mkdir(exist_ok=True)
    with (PRIVATE / "lock").open("w") as lock:  # tools/setup.sh builds under the same one
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = subprocess.run(
            ["cmake", "--build", BUILD, "--target", target], capture_output=True, text=True, check=False
        )
    if told.returncode != 0:
        raise TargetError(f"{target} can't be built:\n{(told.stdout + told.stderr)[-2000:]}")
    return BUILD / folder / target
