# SPDX-License-Identifier: BSD-3-Clause
"""Tests that `oratorio test -k` knows from the sources which tests have a name, and what they need."""

import subprocess
import sys

import pytest

from oratorio.errors import OratorioError
from oratorio.paths import ROOT
from oratorio_dev import testing_names
from oratorio_dev.testing_parts import PARTS, SHORT, SITE

NOBODY = "q" * 9  # no test has this name, and no source of tests has this word


@pytest.fixture(autouse=True)
def unbuilt(monkeypatch):
    """Hides the last build, whose names only make the answers more exact."""
    monkeypatch.setattr(testing_names, "_built", dict)


def needs(part: str, names: str) -> list[str]:
    groups = testing_names.matching([part], names, is_short=False)[part]
    return testing_names.needs_of(part, groups, is_short=False)


@pytest.mark.parametrize(
    ("part", "names", "expected"),
    [
        ("unit", "unit.plan.Graph", "build:unit_plan_test"),
        ("unit", "AtOnceStores.every_rank", "build:sim_at_once_test"),
        ("unit", "^fuzz.hint_", "build:replay_hint_files,replay_hint_values"),
        ("unit", "All/EngineOfMethod.*/descending", "build:example_method"),
        ("sanitize", "DeferredOpenByMethod.*/two_layer$", "build-sanitize:sim_test"),
        ("thread", "AtOnceStores", "build-thread:sim_at_once_test"),
        ("mpi", "^mpi.holes", "mpi"),
        ("programs", "mpi4py", "programs"),
    ],
)
def test_a_name_needs_the_programs_of_its_tests(part, names, expected):
    assert needs(part, names) == [expected]


def test_tests_under_mpiexec_need_their_programs_and_the_libraries_if_the_build_knows_them(monkeypatch):
    known = {
        "mpi_holes_mpich5": {"mpi.holes.mpich5.2", "mpi.holes.mpich4.2"},
        "mpi_kept_mpich5": {"mpi.kept.mpich5.1"},
    }
    monkeypatch.setattr(testing_names, "_built", lambda: known)
    libraries = "oratorio,oratorio-mpich,oratorio-ompi,oratorio-abi,oratorio_yielding"
    assert needs("mpi", "^mpi.holes") == [f"build:{libraries},mpi_holes_mpich5"]


def test_tests_of_tools_need_no_stage_except_for_those_of_the_site():
    assert needs("tools", "test_version or test_tidy") == []
    assert needs("tools", "test_site and links") == ["docs"]
    assert SITE in {group.name for group in testing_names.groups_of("tools", is_short=False)}
    assert SITE not in {group.name for group in testing_names.groups_of("tools", is_short=True)}


def test_only_parts_with_such_names_are_run():
    assert list(testing_names.matching(SHORT, "KnowsEachHullByItsRank", is_short=True)) == ["unit"]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_without_such_a_name_says_so(part):
    with pytest.raises(OratorioError, match=f"no test of {part} has a name that matches -k {NOBODY}"):
        testing_names.matching([part], NOBODY, is_short=False)


@pytest.mark.parametrize("names", ["test_tidy test_site", "test_tidy (test_site)", "test_tidy and", "("])
def test_an_expression_that_pytest_refuses_matches_nothing(names):
    with pytest.raises(OratorioError):
        testing_names.matching(["tools"], f"{names} {NOBODY}", is_short=False)


def test_values_of_parameters_may_consist_of_words_of_their_source():
    assert "unit_store_test" in needs("unit", "posix_direct")[0]


def test_what_can_not_be_known_from_sources_may_match_anything():
    assert len(testing_names.matching(["tools"], "not site", is_short=False)["tools"]) > 30
    assert len(testing_names.matching(["unit"], "(", is_short=False)["unit"]) > 40


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-k", NOBODY], 2, f"oratorio: no test of {', '.join(SHORT)} has a name that matches -k {NOBODY}\n"),
        (["--only", "nothing", "-k", "Graph"], 0, ""),
        (
            ["--only=tools", f"-k{NOBODY}"],
            2,
            f"oratorio: no test of tools has a name that matches -k {NOBODY}\n",
        ),
    ],
)
def test_any_python_reports_in_one_line_that_nothing_matches(words, code, said):
    env = {"PYTHONPATH": f"{ROOT}/cli:{ROOT}/dev"}
    command = [sys.executable, "-S", "-m", "oratorio_dev.testing_names", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)
