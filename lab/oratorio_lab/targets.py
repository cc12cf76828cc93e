# SPDX-License-Identifier: BSD-3-Clause
"""Builds programs of the build folder on demand."""

import os
import subprocess
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.paths import BUILD
from oratorio_lab import building


class TargetError(OratorioError):
    """A program that cannot be built; the text says why."""


def build(target: str, folder: str) -> Path:
    """Brings a program in a folder of the build up to date and returns its path. Raises TargetError."""
    with building.alone():
        told = subprocess.run(
            ["cmake", "--build", BUILD, "--target", target], capture_output=True, text=True, check=False
        )
    if told.returncode != 0:
        raise TargetError(f"{target} can't be built:\n{(told.stdout + told.stderr)[-2000:]}")
    return BUILD / folder / target


def compile_program(compiler: Path | str, source: Path, name: str, *flags: str) -> Path:
    """Returns the program build/programs/NAME, compiled from one source; compiles again after a change of
    the source or of a header in its folder.

    Raises TargetError.
    """
    target = BUILD / "programs" / name
    newest = max(file.stat().st_mtime for file in (source, *source.parent.glob("*.h")))
    if target.exists() and target.stat().st_mtime > newest:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Two parts of the tests may compile the same program at once; the rename keeps both from seeing half of
    # it.
    unfinished = target.with_name(f"{name}-{os.getpid()}")
    # The compiler writes Fortran's module files into the working folder.
    words = [compiler, "-O1", "-o", unfinished, source, *flags]
    done = subprocess.run(words, cwd=target.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TargetError(f"{source.name} can't be compiled:\n{done.stderr}")
    unfinished.replace(target)
    return target
