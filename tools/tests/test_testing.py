# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the counts of `oratorio test` are those of the runners that it starts."""

import pytest
from oratorio import demo, testing
from oratorio.paths import ROOT

CTEST = """<?xml version="1.0"?>
<testsuite tests="4" failures="1" disabled="1" skipped="1">
<testcase name="unit.a" classname="unit.a" time="1" status="run"/>
<testcase name="unit.b" classname="unit.b" status="fail"><failure message=""/></testcase>
<testcase name="unit.c" classname="unit.c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="unit.d" classname="unit.d" status="disabled"/>
</testsuite>"""
PYTEST = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" errors="1" failures="0" skipped="1" tests="3">
<testcase classname="a" name="one"/><testcase classname="a" name="two"><error message="x"/></testcase>
<testcase classname="a" name="three"><skipped type="pytest.skip" message="no MPI"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("text", "passed", "failed", "skipped"), [(CTEST, 1, 1, 2), (PYTEST, 1, 1, 1)], ids=["ctest", "pytest"]
)
def test_a_junit_file_is_counted(text, passed, failed, skipped, tmp_path):
    file = tmp_path / "a.xml"
    file.write_text(text)
    outcome = testing.read_junit(file)
    assert (outcome.passed, len(outcome.failures), len(outcome.skips)) == (passed, failed, skipped)


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
        ("    Start 7: unit.base.Extent.adds", None),
        ("tests/programs/test_a.py::test_b", None),
    ],
)
def test_a_line_of_a_runner_tells_its_progress(line, told):
    assert testing.follow(line) == told


def test_a_runner_that_breaks_without_a_failed_test_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(testing, "LOGS", tmp_path)
    monkeypatch.setitem(testing.PARTS, "tools", lambda junit, match: ["false"])
    assert len(testing._run_part("tools", None, lambda share, name: None).failures) == 1


def test_a_part_that_runs_no_test_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(testing, "LOGS", tmp_path)
    monkeypatch.setitem(testing.PARTS, "tools", lambda junit, match: ["true"])
    assert testing._run_part("tools", None, lambda share, name: None).failures == ["part tools ran no test"]
    assert testing._run_part("tools", "name", lambda share, name: None).failures == []


def test_a_test_that_hangs_ends_its_part_and_the_log_tells_where(tmp_path, monkeypatch):
    monkeypatch.setattr(testing, "LOGS", tmp_path)
    monkeypatch.setattr(testing, "HANG_SECONDS", 1)
    (tmp_path / "test_a.py").write_text("import time\ndef test_a_hang():\n    time.sleep(1000)\n")
    hangs = [*testing.PARTS["tools"](tmp_path / "tools.xml", None)[:-1], str(tmp_path)]
    monkeypatch.setitem(testing.PARTS, "tools", lambda junit, match: hangs)
    assert len(testing._run_part("tools", None, lambda share, name: None).failures) == 1
    assert "in test_a_hang" in (tmp_path / "tools.log").read_text()


def test_the_tests_of_machines_are_run_once_and_beside_the_others(tmp_path, monkeypatch):
    assert all((ROOT / file).exists() for file in testing.MACHINES)
    of_programs = testing.PARTS["programs"](tmp_path / "a.xml", None)
    assert {f"--ignore={file}" for file in testing.MACHINES} <= set(of_programs)
    # Each command ends only when the other has begun.
    monkeypatch.setattr(testing, "ROOT", tmp_path)
    monkeypatch.setattr(testing, "LOGS", tmp_path)
    meet = "touch $0 && until [ -e $1 ]; do sleep 0.01; done"
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    one = ["timeout", "60", "sh", "-c", meet, here, there]
    other = ["timeout", "60", "sh", "-c", meet, there, here]
    monkeypatch.setitem(testing.PARTS, "tools", lambda junit, match: one)
    monkeypatch.setitem(testing.PARTS, "machines", lambda junit, match: other)
    assert testing.run(["tools", "machines"], match="nothing")


def test_the_demo_sums_its_phases_by_layout():
    lines = ["PHASE contiguous 0 open 0.5 0", "PHASE contiguous 0 density 1.0 8", "noise",
             "PHASE contiguous 1 density 2.0 8", "PHASE chunked 0 close 0.25 0"]  # fmt: skip
    phases = [phase for line in lines if (phase := demo.parse_phase(line))]
    rows = demo.rows_of(phases)
    assert rows["contiguous", "density"] == (3.0, 16)
    assert rows["contiguous", "all fields"] == (3.0, 16)
    assert rows["contiguous", "total"] == (3.5, 16)
    assert rows["chunked", "total"] == (0.25, 0)
