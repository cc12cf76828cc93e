# SPDX-License-Identifier: BSD-3-Clause
"""Tests which tests `oratorio test`, `--all` and `--only` run, and that the short command never runs
nothing."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from oratorio import command_line
from oratorio.paths import BUILD, ROOT
from oratorio_dev import testing
from oratorio_dev.testing_parts import MACHINES, ON_REQUEST, PARTS, SHORT, SITE, parts_of

JUNIT = Path("a.xml")


def words_of(part) -> list[str]:
    return part.command(JUNIT, None)


def test_the_short_command_has_each_kind_of_test():
    assert parts_of(None, everything=False) is SHORT
    assert list(SHORT) == ["lint", "tools", "unit", "mpi", "programs"]


def test_all_has_everything_but_what_is_run_on_request():
    assert set(parts_of([], everything=True)) == set(PARTS) - ON_REQUEST
    # The parts sanitize and plain run the tests of the part unit.
    assert set(SHORT) - set(parts_of([], everything=True)) == {"unit"}


def test_only_runs_whole_parts_in_their_order():
    assert parts_of(["programs", "mpi"], everything=False) == {
        "mpi": PARTS["mpi"],
        "programs": PARTS["programs"],
    }


def test_all_and_only_exclude_each_other(monkeypatch):
    monkeypatch.setattr(testing, "run", lambda *words: pytest.fail("tests were run"))
    for words in (["--all", "--only", "lint"], ["--only", "nothing"]):
        with pytest.raises(SystemExit) as ended:
            command_line.call(["test", *words])
        assert ended.value.code == 2


def test_requested_names_reach_each_runner():
    for parts in (PARTS, SHORT):
        for name, part in parts.items():
            if part.command:
                words = part.command(JUNIT, "Graph")
                assert words[words.index("-R" if words[0] == "ctest" else "-k") + 1] == "Graph", name


def test_the_files_that_parts_leave_to_others_exist():
    assert all((ROOT / file).exists() for file in [*MACHINES, SITE])
    for part in (PARTS["programs"], SHORT["programs"]):
        assert {f"--ignore={file}" for file in MACHINES} <= set(words_of(part))
    assert f"--ignore={SITE}" in words_of(SHORT["tools"])


def names_of_ctest(part) -> list[str]:
    """Returns the tests of a part that ctest runs, without running them."""
    words = [word for word in words_of(part) if not word.startswith("--output")]
    done = subprocess.run([*words[:-1], "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(done.stdout)["tests"]]


@pytest.mark.skipif(not (BUILD / "CTestTestfile.cmake").exists(), reason="build/ is not configured")
def test_the_short_command_runs_enough_under_mpiexec_and_the_same_on_both_mpis():
    names = [name.split(".") for name in names_of_ctest(SHORT["mpi"])]
    assert len(names) >= SHORT["mpi"].fewest
    hosts = defaultdict(set)
    for _, test, host, _ in (name for name in names if name[0] == "mpi"):
        hosts[test].add(host)
    both = {test for test, known in hosts.items() if known == {"mpich5", "ompi5"}}
    assert len(both) > SHORT["mpi"].fewest // 3
    assert {
        "holes",
        "kept_on_nodes",
        "faults",
        "unsynchronised",
        "bind_nonblocking",
        "device_of_cuda",
    } <= both


@pytest.mark.parametrize(
    "parts",
    [SHORT["programs"], SHORT["tools"], PARTS["programs"], PARTS["machines"]],
    ids=["short programs", "short tools", "programs", "machines"],
)
def test_enough_tests_are_chosen_of_python(parts):
    words = [word for word in words_of(parts) if word != "-v" and not word.startswith("--junitxml")]
    done = subprocess.run(
        [sys.executable, *words[1:], "--collect-only", "-q"], capture_output=True, text=True, cwd=ROOT
    )
    assert sum("::" in line for line in done.stdout.splitlines()) >= parts.fewest, done.stdout + done.stderr
