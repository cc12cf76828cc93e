# SPDX-License-Identifier: BSD-3-Clause
"""Builds programs in the build folder on demand, by the build or with a given compiler."""

import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.paths import BUILD
from oratorio_lab import building


class TargetError(OratorioError):
    """Raised if a program cannot be built; the message says why."""


def build(target: str, folder: str) -> Path:
    """Brings a program in a folder of the build up to date and returns its path. Raises TargetError."""
    with building.alone():
        told = subprocess.run(
            ["cmake", "--build", BUILD, "--target", target], capture_output=True, text=True, check=False
        )
    if told.returncode != 0:
        raise TargetError(f"{target} can't be built:\n{(told.stdout + told.stderr)[-2000:]}")
    return BUILD / folder / target


def compile_program(
    compiler: Path | str,
    sources: Path | Sequence[Path],
    name: Path | str,
    *flags: Path | str,
    announce: Callable[[], None] = lambda: None,
) -> Path:
    """Returns the path of the program build/programs/NAME, or NAME if that is an absolute path, compiled from
    `sources`, which may include libraries.

    Compiles only if a source, a header in the folder of a source, or the command has changed since the last
    time, and calls `announce` first. Raises TargetError.
    """
    target = BUILD / "programs" / name
    files = [sources] if isinstance(sources, Path) else list(sources)
    words = [str(word) for word in (compiler, "-O1", *files, *flags)]
    headers = [header for folder in {file.parent for file in files} for header in folder.glob("*.h*")]
    newest = max(file.stat().st_mtime for file in (*files, *headers))
    record = target.with_name(f".{target.name}.command")
    is_same = record.exists() and record.read_text() == shlex.join(words)
    if is_same and target.exists() and target.stat().st_mtime > newest:
        return target
    announce()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Two processes may compile the same program at once; the rename hides unfinished files from both.
    unfinished = target.with_name(f"{target.name}-{os.getpid()}")
    # The compiler writes Fortran's module files into the working folder.
    done = subprocess.run(
        [*words, "-o", unfinished], cwd=target.parent, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise TargetError(f"{files[0].name} can't be compiled:\n{done.stderr[-2000:]}")
    unfinished.replace(target)
    record.write_text(shlex.join(words))
    return target
