# SPDX-License-Identifier: BSD-3-Clause
"""Finds which MPI a program will load, as far as the program's files show that before it starts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oratorio.launch.elf import Elf

# Names of an MPI's shared library -> its flavour: MPICH and all MPIs of its ABI (Intel MPI, MVAPICH, Cray's
# with a compiler in its name, as in libmpi_gnu_123.so.12), Open MPI, or the standard ABI of MPI-5.
FLAVOURS = (
    (re.compile(r"libmpi(ch)?\.so\.12|libmpi_[a-z]+(_\w+)?\.so\.12"), "mpich"),
    (re.compile(r"libmpi\.so\.40"), "ompi"),
    (re.compile(r"libmpi_abi\.so\.[01]"), "abi"),
)
FLAVOUR_NAMES = {"mpich": "the MPICH ABI", "ompi": "Open MPI", "abi": "the MPI-5 standard ABI"}
PYTHON_NAME = re.compile(r"(python|pypy)[0-9.]*")
PYTHON_SECONDS = 60  # time limit of a Python that is asked for its mpi4py
# Libraries that load neither an MPI nor a profiler; any other library may load one.
PLAIN_NAMES = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gfortran|quadmath)|ld-linux[\w-]*)\.so\.")
PNETCDF_NAME = "libpnetcdf.so"


@dataclass(frozen=True)
class Needs:
    """The MPI that a program needs (its flavour, or None if that is decided at run time), and other facts
    that `oratorio run` uses."""

    flavour: str | None
    reason: str
    is_static: bool = False
    has_own_io: bool = False  # an MPI's own MPI-IO is linked into the program and cannot be replaced
    profilers: tuple[Path, ...] = ()  # linked libraries that define MPI_File_open and call PMPI_File_open
    has_mpi4py: bool = False
    mpis: tuple[str, ...] = ()  # the names of all MPIs that are loaded with it, if there are several
    has_gio: bool = False  # the program's PnetCDF writes with its driver GIO, unless a hint says otherwise


def flavour_of_name(name: str) -> str | None:
    """Returns the flavour of an MPI by the name or path of its shared library; None for other libraries."""
    return next((flavour for names, flavour in FLAVOURS if names.fullmatch(Path(name).name)), None)


@cache
def _loaded(file: Path) -> tuple[tuple[str, Path | None], ...]:
    """Returns the name and path (None: unknown) of each library that an ELF file loads, directly or through
    others. Returns only the names in DT_NEEDED if these are libraries of PLAIN_NAMES and at most one MPI, or
    if the dynamic linker can't be started. Raises OSError and ValueError."""
    elf = Elf(file)
    direct = elf.needed()
    others = [name for name in direct if not PLAIN_NAMES.match(Path(name).name)]
    if not others or (len(others) == 1 and flavour_of_name(others[0])):
        return tuple((name, None) for name in direct)
    # Starts the dynamic linker as ldd does, but without a shell. (Its option `--list` would end at the first
    # missing library.) A library names no dynamic linker, so ldd lists what it loads.
    linker = elf.interpreter()
    command = [linker, file] if linker else ["ldd", file]
    try:
        env = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
        told = subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout
    except OSError:
        return tuple((name, None) for name in direct)
    return tuple(_traced(line.strip()) for line in told.splitlines())


def _traced(line: str) -> tuple[str, Path | None]:
    """Returns the name and path in a line of the dynamic linker: `libx.so.1 => /lib/libx.so.1 (0x7f...)`."""
    name, _, found = line.rpartition(" (0x")[0].partition(" => ") if "(0x" in line else line.partition(" => ")
    path = found or name
    return name, Path(path) if path.startswith("/") else None


def _neighbours(program: Path) -> tuple[Path, ...]:
    """Returns the paths of the libraries that an ELF file loads, without MPIs."""
    return tuple(path for name, path in _loaded(program) if path and not flavour_of_name(name))


def _mpis(program: Path) -> tuple[str, ...]:
    """Returns the names of the MPIs that an ELF file loads, without a second name of the same file."""
    found: dict[object, str] = {}
    for name, path in _loaded(program):
        if flavour_of_name(name):
            found.setdefault(path.resolve() if path else name, Path(name).name)
    return tuple(found.values())


def _is_profiler(library: Path) -> bool:
    """Returns whether a library defines MPI_File_open and only calls PMPI_File_open; MPIs and Oratorio define
    both."""
    try:
        elf = Elf(library)
        return elf.defines("MPI_File_open") and not elf.defines("PMPI_File_open")
    except (OSError, ValueError):
        return False


def _has_gio(library: Path) -> bool:
    """Returns whether a library is a PnetCDF with the driver GIO. Searches the file for the text of GIO's
    messages, because a shared PnetCDF exports no symbols of GIO."""
    if not library.name.startswith(PNETCDF_NAME):
        return False
    try:
        return Elf(library).has_text(b"GIO_open")
    except (OSError, ValueError):
        return False


def flavour_of_file(file: Path) -> tuple[str, str] | None:
    """Returns (flavour, soname) of the MPI that an ELF file is linked to."""
    try:
        mpis = [name for name in Elf(file).needed() if flavour_of_name(name)] or list(_mpis(file))
    except (OSError, ValueError):
        return None
    return (flavour_of_name(mpis[0]), Path(mpis[0]).name) if mpis else None


def _interpreter(file: Path) -> Path | None:
    """Returns the path of the Python in a `#!` line, where `env` searches PATH for it; None without one, or
    if the file can't be read."""
    try:
        with file.open("rb") as stream:
            line = stream.readline(256).decode(errors="replace")
    except OSError:
        return None
    words = line[2:].split() if line.startswith("#!") else []
    python = next((word for word in words if is_python(Path(word))), None)
    found = shutil.which(python) if python else None
    return Path(found).absolute() if found else None


def _needs_of_python(python: Path) -> Needs:
    """Returns the needs of the mpi4py that this Python would import. If that mpi4py has several builds, its
    MPI is unknown before run time."""
    find = "import importlib.util as u; print(*u.find_spec('mpi4py').submodule_search_locations)"
    try:
        found = subprocess.run(
            [python, "-c", find], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PYTHON_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Needs(None, f"{python.name} doesn't start in time; the MPI is found at run time")
    folder = Path(found.stdout.strip()) if found.returncode == 0 else None
    if folder is None:
        return Needs(None, f"{python.name} has no mpi4py; the MPI is found at run time")
    modules = sorted(folder.glob("MPI*.so"))
    flavours = {found for module in modules if (found := flavour_of_file(module))}
    if len(modules) == 1 and len(flavours) == 1:
        flavour, soname = flavours.pop()
        return Needs(flavour, f"its mpi4py uses {FLAVOUR_NAMES[flavour]} ({soname})", has_mpi4py=True)
    return Needs(None, "its mpi4py chooses the MPI at run time", has_mpi4py=True)


def _needs_of_elf(program: Path) -> Needs:
    elf = Elf(program)
    if not elf.interpreter():
        return Needs(None, "it is linked statically", is_static=True)
    if found := flavour_of_file(program):
        flavour, soname = found
        libraries, mpis = _neighbours(program), _mpis(program)
        return Needs(
            flavour,
            f"it uses {FLAVOUR_NAMES[flavour]} ({soname})",
            profilers=tuple(path for path in libraries if _is_profiler(path)),
            has_gio=any(_has_gio(path) for path in libraries),
            mpis=mpis if len(mpis) > 1 else (),
        )
    own = elf.defines("PMPI_File_open")
    reason = (
        "an MPI is linked into it" if own else "it is not linked to an MPI; one may be loaded at run time"
    )
    return Needs(None, reason, has_own_io=own)


def is_python(program: Path) -> bool:
    """Returns whether a program is a Python interpreter, by its name."""
    return PYTHON_NAME.fullmatch(program.name) is not None


def needs_of(program: Path) -> Needs:
    """Returns which MPI `program`, an existing file, will use."""
    program = program.absolute()  # a name without a slash would be searched in PATH
    try:
        if is_python(program):
            return _needs_of_python(program)
        with program.open("rb") as stream:
            is_elf = stream.read(4) == b"\x7fELF"
        if is_elf:
            return _needs_of_elf(program)
        if python := _interpreter(program):
            return _needs_of_python(python)
    except (OSError, ValueError):
        return Needs(None, "its file can't be read; the MPI is found at run time")
    return Needs(None, "a script; the MPI is found at run time")
