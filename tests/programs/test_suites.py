# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the MPI-IO tests of other projects have the outcomes that conformance.toml states.

The quick programs of two suites run with every change. `oratorio conformance suites --write` runs all
programs of all suites, both with Oratorio and with the host's own MPI-IO, and writes the expected outcomes.
"""

import pytest
from conftest import IS_BUILT, NOT_BUILT, host_or_skip

from oratorio_lab.suites import report
from oratorio_lab.suites.building import Builder
from oratorio_lab.suites.command import find_suite
from oratorio_lab.suites.model import QUICK
from oratorio_lab.suites.runner import run_program, source_folder
from oratorio_lab.suites.sources import SourceError

COMMITTED = report.load_outcomes()
NOTES = report.load_notes()


@pytest.mark.parametrize("host_name", ["mpich5", "openmpi5"])
@pytest.mark.parametrize("suite_name", ["romio", "mpi"])
def test_programs_have_the_committed_outcome(suite_name, host_name, capsys):
    host = host_or_skip(host_name)
    if not IS_BUILT:
        pytest.skip(NOT_BUILT)
    suite = find_suite(suite_name)
    try:
        source = source_folder(suite)
    except SourceError as error:
        pytest.fail(f"the source of {suite.title} is not available: {error}")
    builder = Builder(suite, host, source)
    wrong = []
    for program in suite.tests(source, host):
        if not program.is_in(QUICK):
            continue
        expected = COMMITTED[suite_name][program.name][host_name]["oratorio"]
        found = run_program(builder, program, preload=True)
        if found.outcome != expected:
            wrong.append(f"{program.name}: {found.outcome} instead of {expected}: {found.detail}")
    assert wrong == []


def test_every_result_that_is_no_pass_is_explained():
    assert report.unexplained(COMMITTED, NOTES) == []


def test_every_explanation_is_of_a_result_that_is_no_pass():
    assert report.stale(COMMITTED, NOTES) == []
