# SPDX-License-Identifier: BSD-3-Clause
"""netCDF's parallel tests, with Debian's parallel netCDF, which is built for its Open MPI."""

import subprocess
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio_lab.suites.model import Archive, Program, Suite, exits_with_zero

# The programs of the suite's script (nc_test4/run_par_test.sh), except tst_mode, which runs on one rank, and
# the benchmark tst_nc4perf. All run on 4 ranks here; the script also uses 1, 2, 8 and 16.
PROGRAMS = ("tst_mpi_parallel", "tst_parallel", "tst_parallel3", "tst_parallel4", "tst_parallel5")
PROGRAMS += ("tst_parallel6", "tst_simplerw_coll_r", "tst_parallel_zlib", "tst_parallel_compress")
PROGRAMS += ("tst_quantize_par",)
# Names that the configure script would define for a parallel netCDF on Linux.
CONFIG = (
    "USE_PARALLEL USE_PARALLEL4 USE_NETCDF4 USE_HDF5 HDF5_PARALLEL HDF5_SUPPORTS_PAR_FILTERS HAVE_STDINT_H"
)
CONFIG += " HAVE_STDBOOL_H HAVE_UNISTD_H HAVE_STRDUP HAVE_SYS_TYPES_H HAVE_DIRENT_H"
CONFIG += " HAVE_SYS_STAT_H HAVE_SSIZE_T HAVE_PTRDIFF_T HAVE_STRINGS_H HAVE_INTTYPES_H"


def _prepare(source: Path) -> None:
    lines = [f"#define {name} 1" for name in CONFIG.split()]
    lines += ["#define CHUNK_CACHE_SIZE 16777216", "#define CHUNK_CACHE_NELEMS 4133"]
    lines += ["#define CHUNK_CACHE_PREEMPTION 0.75", '#define TEMP_LARGE "."', "#include <stdint.h>", ""]
    (source / "config.h").write_text("\n".join(lines))


def _tests(source: Path, host: Host) -> list[Program]:
    return [
        Program(
            name=name,
            sources=(f"nc_test4/{name}.c",),
            judge=exits_with_zero,
        )
        for name in PROGRAMS
    ]


def _pkg_config(option: str) -> tuple[str, ...]:
    done = subprocess.run(["pkg-config", option, "netcdf-mpi"], capture_output=True, text=True)
    return tuple(done.stdout.split())


SUITES = (
    Suite(
        name="netcdf",
        title="netCDF: nc_test4, the parallel tests",
        archive=Archive(
            package="netcdf",
            version="1:4.9.0-3",
            file="netcdf_4.9.0.orig.tar.gz",
            sha256="9f4cb864f3ab54adb75409984c6202323d2fc66c003e5308f3cdf224ed41c0a6",
            parts=("nc_test4/", "include/"),
        ),
        hosts=("openmpi4",),
        needs="c",
        tests=_tests,
        remark="Debian's parallel netCDF needs Open MPI 4.",
        prepare=_prepare,
        includes=("", "include"),
        flags=lambda host: _pkg_config("--cflags"),
        libraries=lambda host: (*_pkg_config("--libs"), "-lm"),
    ),
)
