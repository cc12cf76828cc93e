# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own tests of files (test_io.py, test_file.py), as its source distribution ships them.

A test that passes with the MPI's own MPI-IO must pass with Oratorio.
"""

import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, host_or_skip

from oratorio.launch.hosts import Host, run_ranks
from oratorio.paths import BUILD, PRIVATE
from oratorio_lab.suites.runner import read_records

TIMEOUT_SECONDS = 240


@pytest.fixture(scope="module")
def test_folder() -> Path:
    """Returns mpi4py's folder test/, unpacked."""
    (archive,) = (PRIVATE / "wheels").glob("mpi4py-*.tar.gz")
    folder = BUILD / "programs" / archive.name.removesuffix(".tar.gz")
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            tar.extractall(folder.parent)
    return folder / "test"


def run_tests(host: Host, ranks: int, tests: Path, folder: Path, preload: bool) -> dict[str, tuple[str, str]]:
    """Returns the outcome of each test. Fails if the job crashed or hung, and then names the tests under
    way."""
    folder.mkdir()
    program = [host.python, HERE / "mpi4py_runner.py", tests, folder]
    # The test files are in memory, because the tests sync thousands of times.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as files:
        env = {"TMPDIR": files}
        try:
            done = run_ranks(host, ranks, program, preload=preload, env=env, timeout_seconds=TIMEOUT_SECONDS)
            told = f"exit code {done.returncode}\n{done.stderr[-3000:]}"
        except subprocess.TimeoutExpired as late:
            told = f"{late.timeout} seconds were over\n{(late.stderr or '')[-3000:]}"
    outcomes = read_records(folder)
    assert "libraries" in outcomes, f"the job did not come to its end: {told}\n{_unfinished(outcomes)}"
    return outcomes


def _unfinished(outcomes: dict[str, tuple[str, str]]) -> str:
    return "\n".join(f"unfinished: {test}" for test, (outcome, _) in outcomes.items() if outcome == "began")


def wrong_outcomes(expected: dict[str, tuple[str, str]], found: dict[str, tuple[str, str]]) -> list[str]:
    """Returns the tests that passed with the host and did not pass with Oratorio."""
    wrong = []
    for test in sorted(test for test, (outcome, _) in expected.items() if outcome == "passed"):
        outcome, detail = found.get(test, ("not run", ""))
        if outcome != "passed":
            wrong.append(f"{test}: {outcome}\n{detail}")
    return wrong


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", ["mpich5", "openmpi5"])
def test_mpi4py_passes_what_it_passes_with_the_host(name, ranks, test_folder, tmp_path):
    host = host_or_skip(name)
    expected = run_tests(host, ranks, test_folder, tmp_path / "host", preload=False)
    passed = [test for test, (outcome, _) in expected.items() if outcome == "passed"]
    assert len(passed) > 40, f"only these passed with the host: {sorted(passed)}"
    if not IS_BUILT:
        pytest.skip(NOT_BUILT)
    found = run_tests(host, ranks, test_folder, tmp_path / "oratorio", preload=True)
    assert "liboratorio-" in found["libraries"][1]
    wrong = wrong_outcomes(expected, found)
    assert not wrong, "\n".join(wrong)
