# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the programs of a suite for a host, unless they are newer than their sources."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio_lab.suites.model import WORK, Program, Suite

COMPILE_SECONDS = 300
# These flags make compilers accept old code that they refuse today, and silence warnings.
C_FLAGS = ("-O1", "-w", "-std=gnu11")
FORTRAN_FLAGS = ("-O1", "-w", "-fallow-argument-mismatch")


class BuildError(Exception):
    """Raised if a test does not compile; the message is the compiler's first complaint."""


class Builder:
    """Builds the programs of one suite for one host."""

    def __init__(self, suite: Suite, host: Host, source: Path) -> None:
        self.suite, self.host, self.source = suite, host, source
        self.folder_ = WORK / "build" / host.name / suite.name
        self.folder_.mkdir(parents=True, exist_ok=True)

    def build(self, program: Program) -> Path:
        """Builds a program if its file is older than a source. Returns the path. Raises BuildError."""
        support = self.suite.support.get(program.support, ())
        objects = [self._object(file) for file in (*program.sources, *support)]
        target = self.folder_ / program.name.replace("/", "-")
        if _is_older(target, objects):
            is_fortran = any(not file.endswith(".c") for file in program.sources)
            compiler = self.host.mpifort if is_fortran else self.host.mpicc
            self._run([compiler, "-o", target, *objects, *self.suite.libraries(self.host)])
        return target

    def _object(self, file: str) -> Path:
        source = self.source / file
        target = self.folder_ / (file.replace("/", "-") + ".o")
        if not _is_older(target, [source]):
            return target
        is_c = source.suffix == ".c"
        compiler, flags = (self.host.mpicc, C_FLAGS) if is_c else (self.host.mpifort, FORTRAN_FLAGS)
        folders = [source.parent, *(self.source / folder for folder in self.suite.includes)]
        includes = [f"-I{folder}" for folder in folders]
        self._run([compiler, *flags, *includes, *self.suite.flags(self.host), "-c", source, "-o", target])
        return target

    def _run(self, command: Sequence[str | Path]) -> None:
        # The compiler runs in the build folder, because it writes Fortran's module files into the working
        # folder.
        done = subprocess.run(
            command, cwd=self.folder_, capture_output=True, text=True, timeout=COMPILE_SECONDS
        )
        if done.returncode != 0:
            complaints = [line for line in done.stderr.splitlines() if "error" in line.lower()]
            raise BuildError((complaints or [done.stderr.strip() or "the compiler failed"])[0][:200])


def _is_older(target: Path, sources: Sequence[Path]) -> bool:
    return not target.exists() or target.stat().st_mtime < max(file.stat().st_mtime for file in sources)
