# SPDX-License-Identifier: BSD-3-Clause
"""Runs h5py's own tests of parallel files on every rank. usage: h5py_runner.py RESULT_FOLDER [NOT...]

The tests are part of the installed package. They need pytest, which comes from the environment of the tools.
Outcomes are recorded as mpi4py_runner.py does; NOT are names of tests to leave out.
"""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

PRIVATE = Path(__file__).resolve().parents[2] / ".oratorio"
# The tools' packages come at the end of the path, so that h5py and numpy remain this interpreter's own.
sys.path += map(str, PRIVATE.glob("venv/lib/python3*/site-packages"))

import pytest
from mpi4py import MPI


class Plugin:
    """Records outcomes, and gives the tests the file name that they ask for."""

    def __init__(self, stream) -> None:
        self.stream_ = stream

    def tell(self, node: str, outcome: str, detail: str = "") -> None:
        name = "test_file." + node.partition("::")[2].replace("::", ".")
        self.stream_.write(json.dumps([name, outcome, detail]) + "\n")
        self.stream_.flush()

    @pytest.fixture
    def mpi_file_name(self):
        folder = tempfile.mkdtemp() if MPI.COMM_WORLD.rank == 0 else None
        return str(Path(MPI.COMM_WORLD.bcast(folder)) / "file.h5")

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "mpi: tests with more than one rank")
        config.addinivalue_line("markers", "mpi_skip: tests with one rank")

    def pytest_collection_modifyitems(self, items):
        items[:] = [
            item
            for item in items
            if item.get_closest_marker("mpi") and not item.nodeid.endswith(tuple(left_out))
        ]

    def pytest_runtest_logstart(self, nodeid):
        self.tell(nodeid, "began")

    def pytest_runtest_logreport(self, report):
        if report.failed or report.skipped or report.when == "call":
            self.tell(report.nodeid, report.outcome, str(report.longrepr or ""))


def tests_package() -> str:
    """Returns the package of the tests. Debian has one for each build of HDF5, within h5py."""
    debian = importlib.util.find_spec("h5py._debian_h5py_mpi")
    return "h5py._debian_h5py_mpi.tests" if debian else "h5py.tests"


left_out = [f"::{name.rpartition('.')[2]}" for name in sys.argv[2:]]
with (Path(sys.argv[1]) / f"{MPI.COMM_WORLD.rank}.jsonl").open("w") as records:
    options = ["--pyargs", f"{tests_package()}.test_file", "-p", "no:cacheprovider", "-q"]
    sys.exit(0 if pytest.main(options, plugins=[Plugin(records)]) in (0, 1, 5) else 1)
