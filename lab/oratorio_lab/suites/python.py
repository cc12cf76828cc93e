# SPDX-License-Identifier: BSD-3-Clause
"""Python's tests of parallel files: mpi4py's own and h5py's."""

from pathlib import Path

from oratorio.launch.hosts import Host
from oratorio.paths import ROOT
from oratorio_lab.suites.model import Archive, Script, Suite

RUNNERS = ROOT / "tests/programs"

MPI4PY = Archive(
    package="mpi4py",
    version="4.1.2",
    file="mpi4py-4.1.2.tar.gz",
    sha256="56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02",
    parts=("test/",),
    registry="pypi",
)


def _mpi4py(source: Path, host: Host) -> Script:
    return Script(RUNNERS / "mpi4py_runner.py", (str(source / "test"),))


def _h5py(source: Path, host: Host) -> Script:
    return Script(RUNNERS / "h5py_runner.py")


SUITES = (
    Suite(
        name="mpi4py",
        title="mpi4py: test_io.py, test_file.py",
        archive=MPI4PY,
        hosts=("mpich5", "openmpi5"),
        needs="python",
        tests=_mpi4py,
        remark="All tests run in one job of 4 ranks; if the job hangs, it is started again without the "
        "finished tests.",
    ),
    Suite(
        name="h5py",
        title="h5py: the tests of files opened in parallel",
        archive=None,
        hosts=("mpich5", "openmpi4"),
        needs="python",
        tests=_h5py,
        remark="Only the tests that h5py marks for more than one rank.",
    ),
)
