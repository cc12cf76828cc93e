# SPDX-License-Identifier: BSD-3-Clause
"""PnetCDF's tests in C, with Debian's PnetCDF, which is built for its Open MPI."""

import subprocess
from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio_lab.suites.model import Archive, Program, Suite, exits_with_zero

FOLDERS = ("testcases", "nonblocking")
# mcoll_perf measures performance. tst_pthread needs a thread-safe PnetCDF, which Debian's is not. erange_fill
# does nothing unless m4 defines ERANGE_FILL. The output of redef1 must be compared by PnetCDF's own tools.
LEFT_OUT = ("mcoll_perf", "tst_pthread", "erange_fill", "redef1")
SLOW = ("last_large_var", "large_var_cdf5")


# What the configure script would find on Linux with the GNU C library.
CONFIG = """\
#define HAVE_DECL_MPI_OFFSET 1
#define HAVE_STRDUP 1
#define HAVE_STRCASECMP 1
typedef signed char schar;
typedef unsigned char uchar;
typedef long long longlong;
typedef unsigned long long ulonglong;
"""


def _prepare(source: Path) -> None:
    """Writes config.h and makes the sources that are written in m4."""
    (source / "config.h").write_text(CONFIG)
    for folder in FOLDERS:
        for template in (source / "test" / folder).glob("*.m4"):
            made = subprocess.run(
                ["m4", "-DPNETCDF", f"-I{source / 'm4'}", template],
                capture_output=True,
                text=True,
                check=True,
            )
            template.with_suffix(".c").write_text(made.stdout)


def _tests(source: Path, host: Host) -> list[Program]:
    files = [file for folder in FOLDERS for file in sorted((source / "test" / folder).glob("*.c"))]
    return [
        Program(
            name=f"{file.parent.name}/{file.stem}",
            sources=(str(file.relative_to(source)),),
            arguments=("{scratch}/file.nc",),
            judge=exits_with_zero,
            is_slow=file.stem in SLOW,
        )
        for file in files
        if file.stem not in LEFT_OUT
    ]


SUITES = (
    Suite(
        name="pnetcdf",
        title="PnetCDF: test/testcases, test/nonblocking",
        archive=Archive(
            package="pnetcdf",
            version="1.12.3-1",
            file="pnetcdf_1.12.3.orig.tar.xz",
            sha256="8f54023ffbbd3c8137e5422b44e32324113d5690f1da0cb7ecd5842c2de850a9",
            parts=("test/common/", "test/testcases/", "test/nonblocking/", "m4/"),
        ),
        hosts=("openmpi4",),
        needs="c",
        tests=_tests,
        remark="Debian's PnetCDF needs Open MPI 4.",
        prepare=_prepare,
        support={"c": ("test/common/testutils.c",)},
        includes=("", "test/common"),
        flags=lambda host: ("-DHAVE_CONFIG_H=1",),
        libraries=lambda host: ("-lpnetcdf", "-lm"),
    ),
)
