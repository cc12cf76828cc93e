# SPDX-License-Identifier: BSD-3-Clause
"""Finds the MPI whose messages `oratorio calibrate` measures: the command that starts its ranks, and its
library, which each rank loads."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.launch.hosts import Host, find_hosts, find_mpi, launcher_in_path, mpiexec_command
from oratorio.launch.launchers import launcher_of
from oratorio.launch.programs import FLAVOUR_NAMES
from oratorio.paths import LIBRARIES

CHILD = Path(__file__).with_name("child.py")
# Flavour -> names of an MPI's library, as in oratorio.launch.programs.
MPI_LIBRARIES = {
    "mpich": ("libmpi.so.12", "libmpich.so.12"),
    "ompi": ("libmpi.so.40",),
    "abi": ("libmpi_abi.so.0", "libmpi_abi.so.1"),
}
FOLDERS = ("lib", "lib64", "lib/release")  # folders of an MPI's library, relative to its installation


@dataclass(frozen=True)
class Sender:
    """An MPI that sends messages to be measured, and the command that starts its ranks."""

    name: str
    launcher: tuple[str, ...]  # the words that start its ranks
    flavours: tuple[str, ...]  # flavours of MPI that the launcher can start; empty: any
    prefix: Path  # folder of its installation

    def command(self, *words: str) -> list[str]:
        """Returns the command line that runs a command of lab/calibrate in each rank."""
        pairs = [str(name) for pair in libraries(self.prefix, self.flavours) for name in pair]
        return [*self.launcher, sys.executable, str(CHILD), "--ranks", *pairs, "--", *words]


def libraries(prefix: Path, flavours: Sequence[str]) -> list[tuple[str, Path]]:
    """Returns the pairs of libraries, an MPI's and Oratorio's for it, that a rank tries to load in turn:
    first MPIs below `prefix`, then names that each rank's dynamic linker searches for."""
    rows = [
        (name, LIBRARIES / f"liboratorio-{flavour}.so")
        for flavour in flavours or FLAVOUR_NAMES
        for name in MPI_LIBRARIES[flavour]
    ]
    built = [(name, ours) for name, ours in rows if ours.exists()]
    files = [(prefix / folder / name, ours) for name, ours in built for folder in FOLDERS]
    return [(str(file), ours) for file, ours in files if file.exists()] + built


def _prefix_of(program: str | Path) -> Path:
    """Returns the folder of the installation that has a program in its folder bin."""
    return Path(program).resolve().parent.parent


def _sender_by(launcher: Sequence[str], mpi: Host | None) -> Sender:
    """Returns a sender for a user's launcher, such as mpiexec -n 2 --hosts a,b."""
    found = shutil.which(launcher[0])
    if not found:
        raise OratorioError(f"{launcher[0]}: command not found")
    if mpi:
        return Sender(mpi.name, tuple(launcher), (mpi.flavour,), _prefix_of(mpi.mpiexec))
    known = launcher_of(launcher)
    flavours = known.flavours if known else ()
    return Sender(Path(launcher[0]).name, tuple(launcher), flavours, _prefix_of(found))


def find_sender(mpi: str | None, launcher: Sequence[str]) -> Sender | None:
    """Returns a sender for `launcher`; if `mpi` is given, its ranks load the MPI of that name. Without a
    launcher, returns a sender for the MPI named `mpi`, else for the first MPI found, else for the mpiexec in
    PATH, or None if there is no MPI. Raises OratorioError if the launcher or `mpi` does not exist."""
    host = find_mpi(mpi) if mpi else None
    if launcher:
        return _sender_by(launcher, host)
    host = host or next(iter(find_hosts()), None)
    if host:
        return _sender_by(mpiexec_command(host, 2, preload=False), host)
    own = launcher_in_path(2)
    return _sender_by(own, None) if own else None
