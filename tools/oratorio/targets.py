# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the build folder, built when somebody needs them."""

import os
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


def compile_program(compiler: Path | str, source: Path, name: str, *flags: str) -> Path:
    """The program build/programs/NAME of one source, compiled once per change of it or of a header beside it.

    Raises TargetError.
    """
    target = BUILD / "programs" / name
    newest = max(file.stat().st_mtime for file in (source, *source.parent.glob("*.h")))
    if target.exists() and target.stat().st_mtime > newest:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Two parts of the tests may want it at once: neither sees half a program.
    unfinished = target.with_name(f"{name}-{os.getpid()}")
    # Module files of Fortran go beside the program.
    words = [compiler, "-O1", "-o", unfinished, source, *flags]
    done = subprocess.run(words, cwd=target.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TargetError(f"{source.name} can't be compiled:\n{done.stderr}")
    unfinished.replace(target)
    return target
