# SPDX-License-Identifier: BSD-3-Clause
"""The programs in MPICH's source: ROMIO's own tests, and the parts of the MPI test suite that do I/O."""

import re
import shutil
import subprocess
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio_lab.suites.model import (
    FAIL,
    PASS,
    Archive,
    Finished,
    Program,
    Result,
    Suite,
    ends_well,
    says_no_errors,
)

HERE = Path(__file__).resolve().parent
C_HOSTS, FORTRAN_HOSTS = ("mpich5", "openmpi5"), ("mpich4", "openmpi4")
ROMIO, MPI = "src/mpi/romio/test", "test/mpi"
MPI_SECONDS, LONG_SECONDS = 120, 240
FILE = "{scratch}/file"


def _archive(*parts: str) -> Archive:
    return Archive(
        package="mpich",
        version="4.0.2-3",
        file="mpich_4.0.2.orig.tar.xz",
        sha256="b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860",
        parts=parts,
    )


def _environment(name: str) -> dict[str, str]:
    """Returns the variables of a test. Tests named *noncontig_coll2 get one arena of malloc, because they
    hold distances between allocations in an int."""
    return {"MALLOC_ARENA_MAX": "1"} if name.endswith("noncontig_coll2") else {}


def _fill_in(folder: Path, values: dict[str, str]) -> None:
    """Makes FILE from each FILE.in, as configure would."""
    for template in folder.glob("*.in"):
        text = template.read_text()
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        template.with_suffix("").write_text(text)


# --- ROMIO ---

# The ranks and arguments of tests that ROMIO's README and script do not run as `PROGRAM -fname FILE` with 4
# ranks.
ROMIO_RANKS = {"i_noncontig": 2, "noncontig": 2, "noncontig_coll": 2, "types_with_zeros": 2}
ROMIO_RANKS |= {"error": 1, "status": 1, "syshints": 1, "large_file": 1}
ROMIO_ARGUMENTS = {
    "aggregation1": ("-h", "-f", FILE),
    "syshints": (f"{{source}}/{ROMIO}/test_hintfile",),
    "external32": (),
}
ROMIO_PLAIN_ARGUMENT = ("aggregation2", "big_extents", "darray_read", "hindexed", "types_with_zeros")
ROMIO_WITHOUT_VERDICT = ("coll_perf", "perf", "fperf", "large_array", "large_file")
ROMIO_SLOW = ("coll_perf", "large_array", "large_file", "big_extents", "perf", "fperf")


def _prepare_romio(source: Path) -> None:
    _fill_in(
        source / ROMIO,
        {
            "LL": "lld",
            "F77MPIOINC": "",
            "FORTRAN_MPI_OFFSET": "integer*8",
            "F77IARGC": "iargc()",
            "F77GETARG": "call getarg(i, str)",
        },
    )


def _tells_big_endian(run: Finished) -> Result:
    """Judges external32 by what it prints; MPI-4.1, 14.5.2 requires big-endian."""
    is_right = run.code == 0 and "external32 datarep is BIG ENDIAN" in run.stdout
    return Result(PASS) if is_right else Result(FAIL, run.complaint())


def _romio_program(file: str) -> Program:
    name = file.partition(".")[0]
    arguments = (FILE,) if name in ROMIO_PLAIN_ARGUMENT else ("-fname", FILE)
    judge = ends_well if name in ROMIO_WITHOUT_VERDICT else says_no_errors
    return Program(
        name=name,
        sources=(f"{ROMIO}/{file}",),
        ranks=ROMIO_RANKS.get(name, 4),
        arguments=ROMIO_ARGUMENTS.get(name, arguments),
        env=_environment(name),
        judge=_tells_big_endian if name == "external32" else judge,
        seconds=LONG_SECONDS if name in ROMIO_SLOW else MPI_SECONDS,
        is_slow=name in ROMIO_SLOW,
    )


def _romio_tests(suffix: str):
    def tests(source: Path, host: Host) -> list[Program]:
        return [_romio_program(file.name) for file in sorted((source / ROMIO).glob(f"*{suffix}"))]

    return tests


# --- the MPI test suite ---

GIGABYTES = ("bigtype", "i_bigtype")


def _make_f90_harness(mpi: Path) -> None:
    """Makes the templates of f90/io from those of f77/io, as the makefile does with sed."""
    changes = (
        (r'(filename=".*f)\.f"', r'\g<1>90.f90"'),
        (r"include.*iooffset.*", "integer (kind=MPI_OFFSET_KIND) offset"),
        (r"include.*mpif.*", "use mpi"),
        (r"fheader", "f90header"),
        (r"(?m)^C", "!"),
        (r".*implicit *none.*\n", ""),
    )
    for name in ("ioharness.defn", "ioharness.tlt"):
        text = (mpi / "f77/io" / name).read_text()
        for pattern, replacement in changes:
            text = re.sub(pattern, replacement, text)
        (mpi / "f90/io" / name).write_text(text)


def _prepare_mpi(source: Path) -> None:
    """Writes what configure and the makefiles of the MPI test suite would write."""
    mpi = source / MPI
    shutil.copy(HERE / "mpitestconf.h", mpi / "include/mpitestconf.h")
    values = {"F77_MPI_OFFSET": "integer*8", "F77_MPI_ADDRESS": "integer*8", "PERL": "/usr/bin/perl"}
    for folder in ("f77/io", "errors/f77/io", "maint"):
        _fill_in(mpi / folder, values)
    _make_f90_harness(mpi)
    shutil.copy(mpi / "f90/io/c2f902cio.c", mpi / "f08/io/c2f902cio.c")
    merge = ["perl", mpi / "maint/testmerge", f"-defn={mpi / 'maint/common.defn'}"]
    for folder in ("f77/io", "f90/io", "f08/io"):
        subprocess.run(
            [*merge, "ioharness.defn", "ioharness.tlt"], cwd=mpi / folder, check=True, capture_output=True
        )


def _sources_of(folder: Path, name: str) -> list[Path]:
    """Returns a program's own source, and also the C source of programs that are half Fortran and half C."""
    other_half = {"c2f2ciof": "c2f2cio.c", "c2f2ciof90": "c2f902cio.c"}
    own = [folder / (name + suffix) for suffix in (".c", ".f", ".f90")]
    found = [file for file in own if file.exists()]
    return found + ([folder / other_half[name]] if name in other_half else [])


def _mpi_tests(*folders: str):
    """Returns a function that lists the programs of each folder's testlist: `NAME RANKS [KEY=VALUE]...`."""

    def tests(source: Path, host: Host) -> list[Program]:
        programs = []
        for folder in folders:
            place = source / MPI / folder
            lists = [file for file in (place / "testlist", place / "testlist.in") if file.exists()]
            for line in lists[0].read_text().splitlines():
                words = line.partition("#")[0].split()
                if not words:
                    continue
                name, ranks, *rest = words
                files = _sources_of(place, name)
                is_c = all(file.suffix == ".c" for file in files)
                programs.append(
                    Program(
                        name=f"{folder}/{name}",
                        sources=tuple(str(file.relative_to(source)) for file in files),
                        ranks=int(ranks),
                        arguments=tuple(word[4:] for word in rest if word.startswith("arg=")),
                        env=_environment(name),
                        support="c" if is_c else Path(folder).parent.name,
                        seconds=LONG_SECONDS if name in GIGABYTES else MPI_SECONDS,
                        is_slow=name in GIGABYTES,
                    )
                )
        return programs

    return tests


MPI_SUPPORT = {
    "c": (f"{MPI}/util/mtest.c", f"{MPI}/util/mtest_common.c", f"{MPI}/util/mtest_single.c"),
    "f77": (f"{MPI}/util/mtest_f77.f",),
    "f90": (f"{MPI}/util/mtest_f90.f90",),
    "f08": (f"{MPI}/util/mtest_f08.f90",),
}
MPI_PARTS = (f"{MPI}/include", f"{MPI}/util", f"{MPI}/maint", f"{MPI}/dtpools")
MPI_PARTS += tuple(f"{MPI}/{part}/io" for part in ("", "errors", "errors/f77", "f77", "f90", "f08"))
MPI_PARTS = tuple(part.replace("//", "/") for part in MPI_PARTS)

SUITES = (
    Suite(
        name="romio",
        title="ROMIO's own tests",
        archive=_archive(ROMIO),
        hosts=C_HOSTS,
        needs="c",
        tests=_romio_tests(".c"),
        remark="Run with the ranks that its script names, or else 4. Names that MPI-3 removed are defined "
        "again for Open MPI (`mpi1_names.h`); `coll_perf`, `perf`, `large_array` and `large_file` print "
        "no verdict: they pass if their output mentions no error.",
        prepare=_prepare_romio,
        flags=lambda host: ("-include", str(HERE / "mpi1_names.h")),
    ),
    Suite(
        name="romio-fortran",
        title="ROMIO's own tests in Fortran",
        archive=_archive(ROMIO),
        hosts=FORTRAN_HOSTS,
        needs="fortran",
        tests=_romio_tests(".f"),
        remark="With Debian's MPIs, because those of PyPI lack Fortran.",
        prepare=_prepare_romio,
    ),
    Suite(
        name="mpi",
        title="MPICH's test suite: io, errors/io",
        archive=_archive(*MPI_PARTS),
        hosts=C_HOSTS,
        needs="c",
        tests=_mpi_tests("io", "errors/io"),
        prepare=_prepare_mpi,
        support=MPI_SUPPORT,
        includes=(f"{MPI}/include",),
    ),
    Suite(
        name="mpi-fortran",
        title="MPICH's test suite: f77/io, f90/io, f08/io, errors/f77/io",
        archive=_archive(*MPI_PARTS),
        hosts=FORTRAN_HOSTS,
        needs="fortran",
        tests=_mpi_tests("f77/io", "f90/io", "f08/io", "errors/f77/io"),
        remark="With Debian's MPIs, because those of PyPI lack Fortran.",
        prepare=_prepare_mpi,
        support=MPI_SUPPORT,
        includes=(f"{MPI}/include",),
    ),
)
