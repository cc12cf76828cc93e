# SPDX-License-Identifier: BSD-3-Clause
"""The table of neighbours: programs and libraries that share a job with Oratorio. To add one, add a row
here and a program to tests/programs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from oratorio_lab.interop import between, rust
from oratorio_lab.interop.model import Absent, MissingError, Neighbour
from oratorio_lab.interop.releases import RELEASES, upstream
from oratorio_lab.interop.trial import PROGRAMS, compiled, host_of, past_us, seen, system_version

TITLES = {"mpich5": "PyPI", "abi": "PyPI", "openmpi5": "PyPI", "mpich4": "Debian 12", "openmpi4": "Debian 12"}
TITLES |= {release.name: release.title for release in RELEASES}


def _system_version(package: str) -> Callable[[], str]:
    return lambda: system_version(package)


def _release_version(name: str, package: str) -> Callable[[], str]:
    (release,) = (one for one in RELEASES if one.name == name)
    return lambda: upstream(release.version(package))


def _python_version(place: str, distribution: str) -> Callable[[], str]:
    def version() -> str:
        host = host_of(place)
        if host.python is None:
            raise MissingError(f"{place} has no Python")
        find = f"import importlib.metadata as m; print(m.version('{distribution}'))"
        done = subprocess.run([host.python, "-c", find], capture_output=True, text=True, check=False)
        if done.returncode:
            raise MissingError(f"{distribution} isn't in {host.python}")
        return done.stdout.strip()

    return version


Trial = Callable[[str], Callable[[Path], str]]  # maps an MPI's name to Neighbour.run


def _c(source: str, library: str, **options) -> Trial:
    """Returns a trial of an unchanged C program."""

    def trial(place: str, folder: Path) -> str:
        host = host_of(place)
        program = compiled(host, source, library)
        return seen(host, lambda out: [program, out], folder, **options)

    return lambda place: lambda folder: trial(place, folder)


def _python(source: str, *words: str, file: str = "", **options) -> Trial:
    """Returns a trial of a Python program. The program's argument is a folder or, with `file`, a file in that
    folder."""

    def trial(place: str, folder: Path) -> str:
        host = host_of(place)
        return seen(host, lambda out: [host.python, PROGRAMS / source, *words, out / file], folder, **options)

    return lambda place: lambda folder: trial(place, folder)


def _gio(place: str) -> Callable[[Path], str]:
    def trial(folder: Path) -> str:
        host = host_of(place)
        program = compiled(host, "pnetcdf_program.c", "pnetcdf")
        told = between.gio_is_told(program)
        return f"{past_us(host, lambda out: [program, out], folder, 'GIO writes')}; {told}"

    return trial


def _bp5(place: str) -> Callable[[Path], str]:
    def trial(folder: Path) -> str:
        host = host_of(place)
        program = [host.python, PROGRAMS / "adios2_program.py", "BP5"]
        # Compares only the data, because the other files contain times.
        why = "BP5 writes through system calls"
        return past_us(host, lambda out: [*program, out], folder, why, keep="data.0")

    return trial


def _rust(place: str) -> Callable[[Path], str]:
    def trial(folder: Path) -> str:
        host = host_of(place)
        program = rust.built(PROGRAMS / "rust_blocks", host)
        return seen(host, lambda out: [program, out], folder)

    return trial


def _own(place: str) -> str:
    return host_of(place).version


def _row(name, place, version, tried, trial: Trial, is_quick=False) -> Neighbour:
    return Neighbour(name, TITLES[place], place, version, tried, trial(place), is_quick)


def _crate(name: str, place: str, version: Callable[[], str], tried: str, trial: Trial) -> Neighbour:
    """Returns a neighbour that cargo fetches."""
    return Neighbour(name, "crates.io", place, version, tried, trial(place))


def _released(name: str, place: str, package: str, tried: str, trial: Trial) -> Neighbour:
    """Returns a neighbour from another release of Debian."""
    return _row(name, place, _release_version(place, package), tried, trial)


def _of_mpi(name: str, place: str, tried: str, trial: Trial, is_quick: bool = False) -> Neighbour:
    """Returns a neighbour that is a way to use an MPI; the version in its row is the MPI's."""
    return _row(name, place, lambda: _own(place), tried, trial, is_quick)


HDF5 = _c("hdf5_program.c", "hdf5")
NETCDF = _c("netcdf_program.c", "netcdf")
PNETCDF = _c("pnetcdf_program.c", "pnetcdf")
MPIIO = _c("pnetcdf_program.c", "pnetcdf", env={"PNETCDF_HINTS": "nc_driver=mpiio"})
H5PY = _python("h5py_program.py")
MPI4PY = _python("mpi4py_blocks.py", file="blocks.dat")
ADIOS2_HDF5 = _python("adios2_program.py", "HDF5", has_times=True)
PARALLEL = "contiguous and chunked, collective and alone"
BLOCKS = "blocks, written and read by all"

NEIGHBOURS = (
    _row("HDF5", "mpich4", _system_version("libhdf5-mpich-103-1"), PARALLEL, HDF5),
    _row("HDF5", "openmpi4", _system_version("libhdf5-openmpi-103-1"), PARALLEL, HDF5),
    _released("HDF5", "debian13", "libhdf5-openmpi-", PARALLEL, HDF5),
    _released("HDF5", "sid", "libhdf5-openmpi-", PARALLEL, HDF5),
    _row("netCDF-4", "openmpi4", _system_version("libnetcdf-mpi-19"), PARALLEL, NETCDF, True),
    _released("netCDF-4", "debian13", "libnetcdf-mpi-", PARALLEL, NETCDF),
    _released("netCDF-4", "sid", "libnetcdf-mpi-", PARALLEL, NETCDF),
    _row("PnetCDF", "openmpi4", _system_version("libpnetcdf0d"), "records, iput, bput, _all", PNETCDF),
    _released("PnetCDF", "debian13", "libpnetcdf", "the same", PNETCDF),
    _released("PnetCDF with GIO", "sid", "libpnetcdf", "the same", _gio),
    _released("PnetCDF, nc_driver=mpiio", "sid", "libpnetcdf", "the same", MPIIO),
    _row("h5py", "mpich5", _python_version("mpich5", "h5py"), PARALLEL, H5PY),
    _row("h5py", "openmpi4", _system_version("python3-h5py-mpi"), PARALLEL, H5PY),
    _released("h5py", "debian13", "python3-h5py-mpi", PARALLEL, H5PY),
    _released("h5py", "sid", "python3-h5py-mpi", PARALLEL, H5PY),
    _row("mpi4py", "mpich5", _python_version("mpich5", "mpi4py"), BLOCKS, MPI4PY),
    _row("mpi4py", "openmpi5", _python_version("openmpi5", "mpi4py"), BLOCKS, MPI4PY),
    _released("mpi4py", "debian13", "python3-mpi4py", BLOCKS, MPI4PY),
    _released("mpi4py", "sid", "python3-mpi4py", BLOCKS, MPI4PY),
    _released("ADIOS2, engine HDF5", "debian13", "python3-adios2-mpi", "two steps", ADIOS2_HDF5),
    _released("ADIOS2, engine HDF5", "sid", "python3-adios2-mpi", "two steps", ADIOS2_HDF5),
    _released("ADIOS2, engine BP5", "sid", "python3-adios2-mpi", "two steps", _bp5),
    _crate("rsmpi (Rust)", "mpich4", lambda: rust.version(PROGRAMS / "rust_blocks"), BLOCKS, _rust),
    _of_mpi(
        "profiler, preloaded before", "openmpi4", "like Darshan: RTLD_NEXT", between.profiler_before, True
    ),
    _of_mpi("profiler, preloaded after", "openmpi4", "the same", between.profiler_behind, True),
    _of_mpi("profiler, linked in", "openmpi4", "the same", between.profiler_linked, True),
    _of_mpi("MPI sessions", "mpich5", "files of two sessions", between.sessions),
    _of_mpi("MPI sessions", "abi", "files of two sessions", between.sessions),
    _of_mpi("MPI loaded by dlopen", "mpich5", "names looked up in it", between.own_choice),
    _of_mpi("MPI loaded by dlopen, Oratorio before", "mpich5", "names looked up in both", between.both_named),
    _of_mpi("static program", "mpich4", "any", between.static, True),
)  # fmt: skip

ABSENT = (
    Absent(
        "Darshan", "its runtime is not in Debian, PyPI or crates.io",
        "tried by hand, see below; the rows `profiler` work as it does: they wrap pwrite, and their "
        "MPI_File_* call the next PMPI_*",
    ),
    Absent(
        "IOR", "it is not in Debian, PyPI or crates.io",
        "tried by hand, see below; `oratorio bench` has such workloads",
    ),
    Absent(
        "MPI.jl", "Debian 12 has no Julia, and its registry can't be reached here",
        "it loads libmpi with dlopen and looks names up in it, as in the row `MPI loaded by dlopen`",
    ),
    Absent("HDF5 and PnetCDF of conda-forge", "conda can't be reached here", "the same versions of Debian"),
)  # fmt: skip
