# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio conformance`: the runner reports what breaks and continues, and Oratorio breaks nothing."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from conftest import IS_BUILT, NOT_BUILT, host_or_skip

from oratorio.conformance import conformance
from oratorio.conformance.conformance import CRASH, HANG, OK, UNAVAILABLE, WRONG
from oratorio.launch.hosts import mpiexec_command
from oratorio.paths import ROOT

HOSTS = ["mpich5", "openmpi5"]
RANKS = 4


def run_rules(name: str, folder, env=None, **options) -> conformance.Report:
    host = host_or_skip(name)
    return conformance.run_rules(
        mpiexec_command(host, RANKS, False, env), mpicc=host.mpicc, folder=folder, **options
    )


def broken(report: conformance.Report) -> list[str]:
    return [
        f"{outcome.rule.section} {outcome.rule.id}: {outcome.result} {outcome.message}"
        for outcome in report.outcomes
        if outcome.result in conformance.BROKEN
    ]


def rules_of(name: str) -> list[conformance.Rule]:
    return conformance.list_rules(conformance.build(host_or_skip(name).mpicc))


@pytest.mark.parametrize("name", HOSTS)
def test_wrong_crashed_and_hung_rules_are_reported_and_the_next_ones_run(name, tmp_path):
    ids = [rule.id for rule in rules_of(name) if rule.kind == "selftest"]
    report = run_rules(name, tmp_path, ids=ids, seconds=10)
    found = {outcome.rule.id: outcome for outcome in report.outcomes}
    assert list(found) == ids
    results = {name.removeprefix("selftest-"): outcome.result for name, outcome in found.items()}
    assert results == {
        "ok": OK, "wrong": WRONG, "unavailable": UNAVAILABLE, "ranks": UNAVAILABLE,
        "crash": CRASH, "hang": HANG, "last": OK,
    }  # fmt: skip
    assert found["selftest-wrong"].message.startswith("rank 3: selftest_rules.c:")
    assert found["selftest-wrong"].message.endswith("reported by the last rank only")
    assert found["selftest-ranks"].message == "needs 10000 ranks"
    assert not list(tmp_path.iterdir())


def test_the_command_prints_a_table_writes_json_and_fails_if_a_rule_is_broken(tmp_path):
    host = host_or_skip("mpich5")
    file = tmp_path / "outcomes.json"
    words = ["conformance", "--rule", "selftest-wrong", "--rule", "selftest-ok", "--json", file]
    command = [sys.executable, "-m", "oratorio", *words, "--dir", tmp_path, *mpiexec_command(host, 2, False)]
    env = os.environ | {"PYTHONPATH": ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 1, done.stderr
    assert "wrong: rank 1: selftest_rules.c:" in done.stdout
    assert "2 rules: 1 ok, 1 wrong" in done.stdout
    told = json.loads(file.read_text())
    assert {rule["id"]: rule["result"] for rule in told["rules"]} == {
        "selftest-ok": "ok",
        "selftest-wrong": "wrong",
    }
    assert "MPICH" in told["library"]


def test_a_launcher_that_starts_nothing_is_reported(tmp_path):
    host = host_or_skip("mpich5")
    with pytest.raises(conformance.ConformanceError, match="did not run"):
        conformance.run_rules(["false"], mpicc=host.mpicc, ids=["selftest-ok"], folder=tmp_path)


def test_rules_are_chosen_by_whole_section_numbers():
    rules = rules_of("mpich5")
    chosen = {rule.section for rule in conformance.select(rules, ["14.4", "14.5"], [], False)}
    assert chosen == {"14.4.1", "14.4.2", "14.4.3", "14.4.4", "14.4.5", "14.5", "14.5.1", "14.5.2", "14.5.3"}
    with pytest.raises(conformance.ConformanceError, match="no such rule: nobody"):
        conformance.select(rules, [], ["nobody"], False)
    with pytest.raises(conformance.ConformanceError, match=r"there is no rule in section 14\.42"):
        conformance.select(rules, ["14.42"], [], False)


def test_every_procedure_of_the_chapter_is_exercised_by_a_rule_and_rules_have_names_of_their_own():
    place = ROOT / "dev/generate/conformance_doc.py"
    spec = importlib.util.spec_from_file_location("conformance_doc", place)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    names, converters = page.procedures()
    assert len(names) == 92
    rules = [rule for rule in rules_of("mpich5") if rule.kind != "selftest"]
    by_name = page.exercised([{"id": rule.id, "routines": rule.routines} for rule in rules])
    assert set(by_name) == {*names, *converters}
    assert len({rule.id for rule in rules}) == len(rules)
    fortran = page.called_from_fortran()
    c_alone = {"MPI_File_fromint", "MPI_File_toint"}
    bases = [name for name in names if not name.endswith("_c") and name not in c_alone]
    assert [name for name in bases if name.lower() not in fortran] == []


@pytest.mark.short
@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize("name", HOSTS)
def test_every_rule_holds_with_oratorio(name, tmp_path):
    report = run_rules(name, tmp_path, with_oratorio=True)
    assert broken(report) == []
    assert not report.remarks


@pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
@pytest.mark.parametrize("name", HOSTS)
def test_the_rules_hold_if_records_are_gathered(name, tmp_path):
    env = {"ORATORIO_HINTS": "oratorio_shared_write_behind=65536"}
    sections = ["14.2", "14.4.1", "14.4.4", "14.6"]
    assert broken(run_rules(name, tmp_path, env, with_oratorio=True, sections=sections)) == []
