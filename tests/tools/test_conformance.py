# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio conformance`: how it finds the compiler, and separates its words from the launcher's."""

import stat

import pytest

from oratorio import command_line
from oratorio.conformance import command, conformance
from oratorio.conformance.conformance import ConformanceError, Outcome, Report, Rule


def executable(file):
    file.touch()
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


@pytest.mark.parametrize(
    ("launcher", "mpicc"),
    [("mpiexec", "mpicc"), ("mpirun", "mpicc"), ("mpiexec.mpich", "mpicc.mpich"), ("mpiexec.hydra", "mpicc")],
)
def test_the_compiler_is_the_one_next_to_the_launcher(tmp_path, launcher, mpicc):
    executable(tmp_path / "mpicc")
    executable(tmp_path / "mpicc.mpich")
    path = executable(tmp_path / launcher)
    assert conformance.find_mpicc(str(path)) == tmp_path / mpicc


def test_a_launcher_without_a_compiler_is_reported(tmp_path):
    path = executable(tmp_path / "mpiexec")
    with pytest.raises(ConformanceError, match="name one with --mpicc"):
        conformance.find_mpicc(str(path))
    with pytest.raises(ConformanceError, match="no-such-mpiexec: command not found"):
        conformance.find_mpicc("no-such-mpiexec")


def test_options_before_the_launcher_are_ours_and_all_after_it_are_its_own(monkeypatch):
    taken = {}

    def run_rules(launcher, **options):
        taken.update(options, launcher=launcher)
        return Report(launcher)

    monkeypatch.setattr(conformance, "run_rules", run_rules)
    words = ["--section", "14.4", "--timeout", "7", "mpiexec", "-n", "4", "--mpicc", "x", "--help"]
    assert command_line.call(["conformance", *words]) == 0
    assert taken["launcher"] == ["mpiexec", "-n", "4", "--mpicc", "x", "--help"]
    assert taken["sections"] == ["14.4"]
    assert taken["seconds"] == 7
    assert taken["mpicc"] is None


def test_tables_sort_by_section_number_and_counts_add_up():
    def outcome(section, result):
        return Outcome(Rule(section, f"rule-{section}", 1, "usual", (), "holds"), result, "")

    found = [outcome("14.6.10", "ok"), outcome("14.6.2", "wrong"), outcome("9.3.3", "unavailable")]
    report = Report(["mpiexec"], "MPI", found)
    assert [line.split()[0] for line in command.lines_of(report, True) if line[0] != " "] == [
        "9.3.3", "14.6.2", "14.6.10",
    ]  # fmt: skip
    assert command.lines_of(report, False) == [
        "9.3.3 Error handlers of files: 0 of 1 ok",
        "  rule-9.3.3: not available",
        "      holds",
        "14.6.2 Sequential files: 0 of 1 ok",
        "  rule-14.6.2: wrong",
        "      holds",
        "14.6.10 File size: 1 of 1 ok",
    ]
    assert command.summary(report) == "3 rules: 1 ok, 1 wrong, 1 not available"


def test_a_section_has_its_rules_and_those_of_its_parts():
    sections = ("14.5", "14.5.3", "14.50", "20 (5.0)")
    rules = [Rule(section, section, 1, "usual", (), "holds") for section in sections]
    for name, chosen in (("14.5", sections[:2]), ("20", sections[3:]), ("20 (5.0)", sections[3:])):
        assert [rule.id for rule in conformance.select(rules, [name], [], False)] == list(chosen)


def test_progress_has_the_remaining_time(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 5.0, 25.0, 30.0, 31.0])
    monkeypatch.setattr(command.time, "monotonic", lambda: next(clock))
    progress = command.Progress()
    progress.start(4)
    for _ in range(2):
        progress.advance(None)
    assert capsys.readouterr().err == "2 of 4 rules, about 25 s left\n", "a line every 20 s in a log"
    monkeypatch.setattr(command.sys.stderr, "isatty", lambda: True)
    progress.advance(None)
    progress.advance(None)
    first, second = capsys.readouterr().err.split("\r")
    assert first.rstrip() == "3 of 4 rules, about 10 s left"
    assert second.rstrip() == "4 of 4 rules" and len(second.strip("\n")) == len(first)
