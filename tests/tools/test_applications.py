# SPDX-License-Identifier: BSD-3-Clause
"""Tests how the applications of `oratorio neighbours` are judged; real runs are in tests/programs."""

import subprocess
from pathlib import Path

import pytest

from oratorio.launch.hosts import Host
from oratorio_lab.interop import application_page, applications
from oratorio_lab.interop.applications import Application, Measured, Step
from oratorio_lab.interop.model import OK, SKIPPED, WRONG, MissingError, WrongError

NOWHERE = Path("/nowhere")
HOST = Host("made up", "ompi", NOWHERE, NOWHERE, NOWHERE, "4.1.4", "openmpi")
APPLICATION = Application("it", "package", "1 / 2", "writes", (Step(("it",)),), unlike=("*.log",))
SAW = "oratorio: Oratorio 0.2.0 saw 12 accesses to 2 files on rank 0\n"


@pytest.fixture
def job(monkeypatch):
    """Returns job(ours, code_of_romio), which sets the bytes that runs with Oratorio leave, and the exit code
    of runs with ROMIO. The slowest rank takes 3 s in OMPIO, 2 s in ROMIO and 1 s with Oratorio."""

    def make(ours: bytes, code_of_romio: int = 0) -> None:
        def run_ranks(host, ranks, words, *, preload, env, cwd, timeout_seconds):
            is_romio = "OMPI_MCA_io" in env
            (cwd / "data").write_bytes(ours if preload else b"abc")
            (cwd / "it.log").write_text(str(env))
            for rank in range(2):
                seconds = rank * (1 if preload else 2 if is_romio else 3)
                (Path(env["TIMED_CALLS_FOLDER"]) / str(rank)).write_text(f"{seconds} 7\n")
            return subprocess.CompletedProcess(words, code_of_romio if is_romio else 0, "", SAW)

        monkeypatch.setattr(applications, "run_ranks", run_ranks)
        monkeypatch.setattr(applications, "host_of", lambda name: HOST)
        monkeypatch.setattr(applications, "timer", lambda: NOWHERE)

    return make


def test_the_hosts_faster_mpi_io_counts(job, tmp_path):
    job(b"abc")
    measured = applications.measure(APPLICATION, tmp_path, 2)
    assert (measured.files, measured.accesses) == (1, 12)
    assert measured.host == ("ROMIO", 2.0) and measured.oratorio == 1.0
    assert {name: len(times) for name, times in measured.seconds.items()} == {
        "host": 2, "ROMIO": 2, "Oratorio": 2,
    }  # fmt: skip


def test_a_romio_that_fails_is_left_out(job, tmp_path):
    job(b"abc", code_of_romio=1)
    assert applications.measure(APPLICATION, tmp_path, 2).host == ("host", 3.0)


def test_without_repeats_nothing_is_measured(job, tmp_path):
    job(b"abc")
    measured = applications.measure(APPLICATION, tmp_path, 0)
    assert measured.files == 1 and measured.host is None and measured.oratorio is None


def test_other_bytes_are_wrong_unless_the_checker_finds_the_same_values(job, tmp_path):
    job(b"abd")
    with pytest.raises(WrongError, match="different bytes in data"):
        applications.measure(APPLICATION, tmp_path / "one", 0)
    checked = Application("it", "package", "", "", (Step(("it",)),), unlike=("*.log",), checker=("true",))
    assert applications.measure(checked, tmp_path / "two", 0).files == 1


def test_a_row_states_the_times_or_why_there_are_none(monkeypatch, tmp_path):
    monkeypatch.setattr(application_page.releases, "HOME", tmp_path)
    monkeypatch.setattr(application_page, "system_version", lambda package: "1.2")

    def outcome(result):
        def measure(application, folder, repeat):
            if isinstance(result, Exception):
                raise result
            return result

        monkeypatch.setattr(application_page, "measure", measure)
        return application_page.look(APPLICATION, 1)

    good = outcome(Measured(3, 12, {"host": [0.004], "ROMIO": [0.002], "Oratorio": [0.008]}))
    missing, wrong = outcome(MissingError("no package")), outcome(WrongError("other bytes"))
    assert [one.state for one in (good, missing, wrong)] == [OK, SKIPPED, WRONG]
    table = application_page.table_of([good, missing, wrong])
    assert "| 3 equal | 12 | 2.0 ms (ROMIO) | 8.0 ms | 0.25 |" in table
    assert "| skipped: no package |" in table and "| wrong: other bytes |" in table


def test_a_missing_package_that_only_the_checker_needs_skips_the_row_and_is_named(
    monkeypatch, tmp_path, capsys
):
    def version(package):
        if package == "checker":
            raise MissingError("package checker isn't installed")
        return "1.2"

    row = Application("it", "package", "", "", (Step(("it",)),), needs=("checker",))
    monkeypatch.setattr(application_page.releases, "HOME", tmp_path)
    monkeypatch.setattr(application_page, "system_version", version)
    monkeypatch.setattr(application_page, "APPLICATIONS", (row,))
    assert application_page.run(None, 0, False)
    printed = capsys.readouterr().out
    assert "package checker isn't installed" in printed
    assert printed.endswith("apt-get install --no-install-recommends package checker\n")
