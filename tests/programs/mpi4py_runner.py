# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own tests on every rank. usage: mpi4py_runner.py TEST_FOLDER RESULT_FOLDER [NOT...]

NOT are tests to leave out: names of methods, or module.class.method. Each rank writes
RESULT_FOLDER/<rank>.jsonl: a line when a test begins and a line when it has ended, so that the test in which
a job hangs is known, too; and last the Oratorio libraries that were loaded.
"""

import json
import signal
import sys
import unittest
from pathlib import Path

MODULES = ("test_io", "test_file")
TEST_SECONDS = 60  # time limit of a test; a test that hangs ends the job

sys.path.insert(0, sys.argv[1])
# mpi4py's own main.py hides these modules, too.
sys.modules["cupy"] = None
sys.modules["numba"] = None

from mpi4py import MPI

# With one rank the tests also cover NumPy's types. With more ranks each step waits for all ranks, so the
# tests cover only the types of the standard library.
if MPI.COMM_WORLD.size > 1:
    sys.modules["numpy"] = None


class Recorder(unittest.TestResult):
    """Writes the outcome of each test when it is known."""

    def __init__(self, stream) -> None:
        super().__init__()
        self.stream_ = stream

    def tell(self, test, outcome: str, detail: str = "") -> None:
        name = test.id() if hasattr(test, "id") else str(test)
        self.stream_.write(json.dumps([name, outcome, detail]) + "\n")
        self.stream_.flush()

    def startTest(self, test):  # noqa: N802
        super().startTest(test)
        signal.alarm(TEST_SECONDS)
        self.tell(test, "began")

    def addSuccess(self, test):  # noqa: N802
        self.tell(test, "passed")

    def addFailure(self, test, err):  # noqa: N802
        self.tell(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):  # noqa: N802
        self.tell(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):  # noqa: N802
        self.tell(test, "skipped", reason)

    def addSubTest(self, test, subtest, err):  # noqa: N802
        if err is not None:
            self.tell(test, "failed", self._exc_info_to_string(err, test))


class Loader(unittest.TestLoader):
    """Leaves out the tests that the command line names."""

    def getTestCaseNames(self, testCaseClass):  # noqa: N802, N803
        place = f"{testCaseClass.__module__}.{testCaseClass.__qualname__}"
        names = super().getTestCaseNames(testCaseClass)
        return [name for name in names if not {name, f"{place}.{name}"} & set(sys.argv[3:])]


def main() -> None:
    with (Path(sys.argv[2]) / f"{MPI.COMM_WORLD.rank}.jsonl").open("w") as stream:
        recorder = Recorder(stream)
        Loader().loadTestsFromNames(MODULES).run(recorder)
        signal.alarm(0)
        maps = Path("/proc/self/maps").read_text().split()
        libraries = sorted({Path(word).name for word in maps if "liboratorio-" in word})
        recorder.tell("libraries", "loaded", " ".join(libraries))


main()
