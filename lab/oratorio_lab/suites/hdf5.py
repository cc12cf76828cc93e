# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's parallel tests, with Debian's parallel HDF5 for its MPICH and its Open MPI."""

import subprocess
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio_lab.suites.model import Archive, Program, Suite, exits_with_zero

SECONDS = 300
TESTPHDF5 = ("testphdf5", "t_dset", "t_file", "t_file_image", "t_mdset", "t_ph5basic", "t_coll_chunk")
TESTPHDF5 += ("t_span_tree", "t_chunk_alloc", "t_filter_read", "t_prop", "t_coll_md_read")
# t_prestart opens what t_pshutdown left, and t_pflush2 opens what t_pflush1 left when it ended without
# closing.
FIRST = {"t_prestart": "t_pshutdown", "t_pflush2": "t_pflush1"}
PROGRAMS = ("t_mpi", "testphdf5", "t_pread", "t_pshutdown", "t_prestart")
PROGRAMS += ("t_pflush2", "t_init_term", "t_shapesame", "t_filters_parallel", "t_bigio")
SLOW = ("t_bigio", "t_shapesame", "testphdf5")


def _prepare(source: Path) -> None:
    """Writes what the suite's configure script would write for the tests."""
    (source / "test/H5srcdir_str.h").write_text('#define config_srcdir "."\n')


def _program(name: str) -> Program:
    files = TESTPHDF5 if name == "testphdf5" else (name,)
    return Program(
        name=name,
        sources=tuple(f"testpar/{file}.c" for file in files),
        seconds=SECONDS,
        judge=exits_with_zero,
        first=_program(FIRST[name]) if name in FIRST else None,
        is_slow=name in SLOW,
    )


def _tests(source: Path, host: Host) -> list[Program]:
    return [_program(name) for name in PROGRAMS]


def _pkg_config(host: Host, option: str) -> tuple[str, ...]:
    package = "hdf5-openmpi" if host.flavour == "ompi" else "hdf5-mpich"
    done = subprocess.run(["pkg-config", option, package], capture_output=True, text=True)
    return tuple(done.stdout.split())


SUITES = (
    Suite(
        name="hdf5",
        title="HDF5: testpar",
        archive=Archive(
            package="hdf5",
            version="1.10.8+repack1-1",
            file="hdf5_1.10.8+repack1.orig.tar.gz",
            sha256="7b38e58ff83b13fd8959a90b13bf896bc318ba096c940ab0847abf3ad41a0b31",
            parts=("testpar/", "test/h5test", "test/testframe.c", "test/testhdf5.h", "test/H5src", "src/H5"),
        ),
        hosts=("mpich4", "openmpi4"),
        remark="Without t_cache, which tests HDF5's own cache and takes 5 minutes on two cores with "
        "any MPI-IO, and t_cache_image, which takes as long.",
        needs="c",
        tests=_tests,
        prepare=_prepare,
        support={"c": ("test/h5test.c", "test/testframe.c")},
        includes=("test", "src"),
        flags=lambda host: _pkg_config(host, "--cflags"),
        libraries=lambda host: (*_pkg_config(host, "--libs"), "-lm"),
    ),
)
