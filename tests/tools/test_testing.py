# SPDX-License-Identifier: BSD-3-Clause
"""Tests how `oratorio test` runs its parts: the counts and the progress that it takes from their runners,
parts that break or lack tests, and what it prints."""

from pathlib import Path

import pytest

from oratorio.errors import OratorioError
from oratorio_dev import testing, testing_parts
from oratorio_dev.testing_parts import PARTS, Part
from oratorio_lab.demo import demo

CTEST = """<?xml version="1.0"?>
<testsuite tests="4" failures="1" disabled="1" skipped="1">
<testcase name="unit.a" classname="unit.a" time="1" status="run"/>
<testcase name="unit.b" classname="unit.b" status="fail"><failure message=""/>
<properties/><system-out>a.cpp:80: Failure</system-out></testcase>
<testcase name="unit.c" classname="unit.c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="unit.d" classname="unit.d" status="disabled"/>
</testsuite>"""
PYTEST = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" errors="1" failures="0" skipped="1" tests="3">
<testcase classname="a" name="one"/><testcase classname="a" name="two">
<error message="x">a.py:7: Timeout</error></testcase>
<testcase classname="a" name="three"><skipped type="pytest.skip" message="no MPI"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("text", "passed", "printed", "skipped"),
    [(CTEST, 1, {"unit.b": "a.cpp:80: Failure"}, 2), (PYTEST, 1, {"a.two": "a.py:7: Timeout"}, 1)],
    ids=["ctest", "pytest"],
)
def test_a_junit_file_is_counted_with_the_output_of_failed_tests(text, passed, printed, skipped, tmp_path):
    file = tmp_path / "a.xml"
    file.write_text(text)
    outcome = testing.read_junit(file)
    assert (outcome.passed, outcome.failures, len(outcome.skips)) == (passed, list(printed), skipped)
    assert outcome.printed == printed


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "  3/12 Test  #7: unit.base.Extent.adds ......   Passed    0.01 sec",
            (0.25, "unit.base.Extent.adds"),
        ),
        (
            "tests/programs/test_a.py::test_b[x y] PASSED    [ 50%]",
            (0.5, "tests/programs/test_a.py::test_b[x y]"),
        ),
        (
            "[gw1] [ 22%] SKIPPED tests/programs/test_a.py::test_b[x y] \n",
            (0.22, "tests/programs/test_a.py::test_b[x y]"),
        ),
        ("    Start 7: unit.base.Extent.adds", None),
        ("tests/programs/test_a.py::test_b", None),
    ],
)
def test_a_line_of_a_runner_tells_its_progress(line, told):
    assert testing.follow(line) == told


def run_one(command: list[str], match: str | None = None, fewest: int = 1) -> testing.Outcome:
    part = Part(lambda junit, names: command, fewest)
    return testing.run_part("tools", part, match, lambda share, name: None)


@pytest.fixture(autouse=True)
def logs(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(testing, "LOGS", tmp_path)
    return tmp_path


def writes_junit(logs: Path) -> list[str]:
    """Returns the command of a runner that writes a JUnit file with one passed test and one skipped one."""
    text = (
        '<testsuites><testsuite><testcase classname="a" name="one"/><testcase classname="a" name="two">'
        '<skipped message="no MPI"/></testcase></testsuite></testsuites>'
    )
    return ["sh", "-c", 'echo "$0" >"$1"', text, str(logs / "tools.xml")]


def test_a_runner_that_breaks_without_a_failed_test_is_a_failure():
    assert len(run_one(["false"]).failures) == 1


def test_a_part_without_tests_is_a_failure_unless_names_were_requested():
    assert len(run_one(["true"]).failures) == 1
    assert run_one(["true"], match="name").failures == []


def test_a_part_with_fewer_tests_than_it_should_have_is_a_failure(logs):
    assert run_one(writes_junit(logs), fewest=2).failures == []
    [told] = run_one(writes_junit(logs), fewest=3).failures
    assert told == "part tools passed 1 of 2 tests; it should have 3 or more"
    assert run_one(writes_junit(logs), match="one", fewest=3).failures == []


def test_skipped_tests_of_one_reason_are_one_line():
    one = testing.Outcome(skips=[("a", "no MPI"), ("b", "no Slurm")])
    other = testing.Outcome(skips=[("c", "no Slurm")])
    assert testing.lines_of_skips({"mpi": one, "programs": other}) == [
        "skipped 2: no Slurm (such as mpi: b)",
        "skipped 1: no MPI (such as mpi: a)",
    ]


def test_a_test_that_hangs_ends_its_part_and_the_log_tells_where(logs, monkeypatch):
    monkeypatch.setattr(testing_parts, "HANG_SECONDS", 1)
    (logs / "test_a.py").write_text("import time\ndef test_a_hang():\n    time.sleep(1000)\n")
    hangs = [*PARTS["tools"].command(logs / "tools.xml", None)[:-1], str(logs)]
    assert len(run_one(hangs).failures) == 1
    assert "in test_a_hang" in (logs / "tools.log").read_text()


def test_the_tests_of_machines_run_in_parallel_with_the_others(tmp_path, monkeypatch):
    # Each command ends only when the other one has begun.
    monkeypatch.setattr(testing, "ROOT", tmp_path)
    meet = "touch $0 && until [ -e $1 ]; do sleep 0.01; done"
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    one = ["timeout", "60", "sh", "-c", meet, here, there]
    other = ["timeout", "60", "sh", "-c", meet, there, here]
    both = {"tools": Part(lambda junit, names: one), "machines": Part(lambda junit, names: other)}
    # A command that waited in vain would be a failed test.
    with pytest.raises(OratorioError, match="no test of tools, machines has a name that matches -k nothing"):
        testing.run(both, match="nothing")


def test_the_demo_sums_its_phases_by_layout():
    lines = ["PHASE contiguous 0 open 0.5 0", "PHASE contiguous 0 density 1.0 8", "noise",
             "PHASE contiguous 1 density 2.0 8", "PHASE chunked 0 close 0.25 0"]  # fmt: skip
    phases = [phase for line in lines if (phase := demo.parse_phase(line))]
    rows = demo.rows_of(phases)
    assert rows["contiguous", "density"] == (3.0, 16)
    assert rows["contiguous", "all fields"] == (3.0, 16)
    assert rows["contiguous", "total"] == (3.5, 16)
    assert rows["chunked", "total"] == (0.25, 0)


def test_the_output_of_failed_tests_is_shown_and_else_the_end_of_the_log(logs, capsys):
    (logs / "sanitize.log").write_text("of many tests\nthe end of the log\n")
    console = testing.Console(highlight=False)
    testing._print_part(console, "sanitize", testing.Outcome(failures=["a"], printed={"a": "a.cpp:80"}))
    assert "a.cpp:80" in (shown := capsys.readouterr().out) and "the log" not in shown
    testing._print_part(console, "sanitize", testing.Outcome(failures=["the runner"]))
    assert "the end of the log" in capsys.readouterr().out
