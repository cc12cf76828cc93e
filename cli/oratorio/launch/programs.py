# SPDX-License-Identifier: BSD-3-Clause
"""Finds which MPI a program will load, as far as the program's files show that before it starts."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oratorio.launch.elf import Elf

# Name of an MPI's shared library -> its flavour: MPICH and all MPIs of its ABI, Open MPI, or the standard ABI
# of MPI-5.
FLAVOUR_OF_SONAME = {
    "libmpi.so.12": "mpich",
    "libmpich.so.12": "mpich",
    "libmpi.so.40": "ompi",
    "libmpi_abi.so.1": "abi",
}
FLAVOUR_NAMES = {"mpich": "the MPICH ABI", "ompi": "Open MPI", "abi": "the MPI-5 standard ABI"}
PYTHON_NAME = re.compile(r"(python|pypy)[0-9.]*$")
# Libraries that lead to no MPI and no profiler; any other library may lead to one.
PLAIN_NAMES = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gfortran|quadmath)|ld-linux[\w-]*)\.so\.")
PNETCDF_NAME = "libpnetcdf.so"


@dataclass(frozen=True)
class Needs:
    """Which MPI a program needs: a flavour, or None if that is decided at run time; and what else matters to
    `oratorio run`."""

    flavour: str | None
    reason: str
    is_static: bool = False
    has_own_io: bool = False  # an MPI's own MPI-IO is linked into the program and cannot be replaced
    profilers: tuple[Path, ...] = ()  # linked libraries that define MPI_File_open and call PMPI_File_open
    has_gio: bool = False  # the program's PnetCDF writes with its driver GIO, unless a hint says otherwise


@cache
def _sonames(file: Path) -> tuple[str, ...]:
    """Returns the names in DT_NEEDED of an ELF file, and unless it needs an MPI itself, also those of the
    libraries that it loads."""
    try:
        direct = Elf(file).needed()
    except (OSError, ValueError):
        return ()
    if any(Path(name).name in FLAVOUR_OF_SONAME for name in direct):
        return tuple(direct)
    try:
        linked = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    except OSError:
        linked = ""
    return (*direct, *re.findall(r"^\s+(\S+)", linked, re.MULTILINE))


def _neighbours(program: Path) -> tuple[Path, ...]:
    """Returns the libraries that an ELF file loads, directly or through others, without MPIs. Empty if it
    needs only MPIs and libraries of PLAIN_NAMES itself."""
    direct = [name for name in Elf(program).needed() if Path(name).name not in FLAVOUR_OF_SONAME]
    if all(PLAIN_NAMES.match(Path(name).name) for name in direct):
        return ()
    # Starts the dynamic linker as ldd does, but without a shell. (Its option `--list` would end at the first
    # missing library.)
    command, env = [Elf(program).interpreter(), program], {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        linked = subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ()
    found = [Path(path) for path in re.findall(r"^\s+(?:\S+ => )?(/.*) \(0x", linked, re.MULTILINE)]
    return tuple(path for path in found if path.name not in FLAVOUR_OF_SONAME)


def _is_profiler(library: Path) -> bool:
    """Whether a library defines MPI_File_open and only calls PMPI_File_open; MPIs and Oratorio define
    both."""
    try:
        elf = Elf(library)
        return elf.defines("MPI_File_open") and not elf.defines("PMPI_File_open")
    except (OSError, ValueError):
        return False


def _has_gio(library: Path) -> bool:
    """Whether a library is a PnetCDF with the driver GIO. Searches the file for the text of GIO's messages,
    because a shared PnetCDF exports no symbols of GIO."""
    if not library.name.startswith(PNETCDF_NAME):
        return False
    try:
        return Elf(library).has_text(b"GIO_open")
    except (OSError, ValueError):
        return False


def flavour_of_file(file: Path) -> tuple[str, str] | None:
    """Returns (flavour, soname) of the MPI that an ELF file is linked to."""
    for name in _sonames(file):
        flavour = FLAVOUR_OF_SONAME.get(Path(name).name)
        if flavour:
            return flavour, Path(name).name
    return None


def _interpreter(file: Path) -> Path | None:
    """Returns the Python of a `#!` line, if there is one."""
    with file.open("rb") as stream:
        line = stream.readline(256).decode(errors="replace")
    words = line[2:].split() if line.startswith("#!") else []
    for word in words:
        if PYTHON_NAME.search(word):
            return Path(word)
    return None


def _needs_of_python(python: Path) -> Needs:
    """Returns the needs of the mpi4py that this Python would import. If that mpi4py has several builds, its
    MPI is unknown before run time."""
    find = "import importlib.util as u; print(*u.find_spec('mpi4py').submodule_search_locations)"
    found = subprocess.run([python, "-c", find], capture_output=True, text=True, check=False)
    folder = Path(found.stdout.strip()) if found.returncode == 0 else None
    if folder is None:
        return Needs(None, f"{python.name} has no mpi4py; the MPI is found at run time")
    modules = sorted(folder.glob("MPI*.so"))
    flavours = {found for module in modules if (found := flavour_of_file(module))}
    if len(modules) == 1 and len(flavours) == 1:
        flavour, soname = flavours.pop()
        return Needs(flavour, f"its mpi4py uses {FLAVOUR_NAMES[flavour]} ({soname})")
    return Needs(None, "its mpi4py chooses the MPI at run time")


def _needs_of_elf(program: Path) -> Needs:
    elf = Elf(program)
    if not elf.interpreter():
        return Needs(None, "it is linked statically", is_static=True)
    if found := flavour_of_file(program):
        flavour, soname = found
        libraries = _neighbours(program)
        return Needs(
            flavour,
            f"it uses {FLAVOUR_NAMES[flavour]} ({soname})",
            profilers=tuple(path for path in libraries if _is_profiler(path)),
            has_gio=any(_has_gio(path) for path in libraries),
        )
    own = elf.defines("PMPI_File_open")
    reason = (
        "an MPI is linked into it" if own else "it is not linked to an MPI; one may be loaded at run time"
    )
    return Needs(None, reason, has_own_io=own)


def needs_of(program: Path) -> Needs:
    """Returns which MPI `program`, an existing file, will use."""
    if PYTHON_NAME.search(program.name):
        return _needs_of_python(program)
    with program.open("rb") as stream:
        is_elf = stream.read(4) == b"\x7fELF"
    if not is_elf:
        python = _interpreter(program)
        if python:
            return _needs_of_python(python)
        return Needs(None, "a script; the MPI is found at run time")
    try:
        return _needs_of_elf(program)
    except ValueError:
        return Needs(None, "its file can't be read; the MPI is found at run time")
