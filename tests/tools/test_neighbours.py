# SPDX-License-Identifier: BSD-3-Clause
"""Tests how `oratorio neighbours` judges made-up runs; real runs are in tests/programs."""

import subprocess
from pathlib import Path

import pytest

from oratorio import markdown
from oratorio.launch.hosts import Host
from oratorio_lab.interop import command, releases, trial
from oratorio_lab.interop.model import OK, SKIPPED, WRONG, MissingError, Neighbour, WrongError

NOWHERE = Path("/nowhere")
HOST = Host("made up", "ompi", NOWHERE, NOWHERE, NOWHERE, "1.0", "openmpi")


@pytest.fixture
def job(monkeypatch):
    """Returns job(theirs, ours, said, code), which sets the bytes left without and with Oratorio, and the
    messages and exit code of the run with Oratorio."""

    def make(theirs: bytes, ours: bytes, said: str = "", code: int = 0) -> None:
        def run_ranks(host, ranks, words, *, preload, env, timeout_seconds):
            (Path(words[0]) / "data").write_bytes(ours if preload else theirs)
            return subprocess.CompletedProcess(words, code if preload else 0, "", said if preload else "")

        monkeypatch.setattr(trial, "run_ranks", run_ranks)

    return make


def words(folder: Path) -> list:
    return [folder]


SAW = "oratorio: Oratorio 0.2.0 saw 12 accesses to 2 files on rank 0\n"


def test_equal_files_and_seen_accesses_are_right(job, tmp_path):
    job(b"abc", b"abc", SAW)
    assert trial.seen(HOST, words, tmp_path) == "same bytes, 12 accesses seen"


@pytest.mark.parametrize(
    ("ours", "said", "code", "told"),
    [
        (b"abd", SAW, 0, "different bytes in data"),
        (b"abc", "", 0, "Oratorio saw no access"),
        (b"abc", "rank 1: no space\n", 3, "with Oratorio: rank 1: no space"),
    ],
)
def test_other_bytes_no_access_and_a_bad_end_are_wrong(job, tmp_path, ours, said, code, told):
    job(b"abc", ours, said, code)
    with pytest.raises(WrongError, match=told):
        trial.seen(HOST, words, tmp_path)


def test_files_with_times_in_them_are_compared_by_length(job, tmp_path):
    job(b"abc", b"abd", SAW)
    assert "right data" in trial.seen(HOST, words, tmp_path / "one", has_times=True)
    job(b"abc", b"abcd", SAW)
    with pytest.raises(WrongError, match="different bytes"):
        trial.seen(HOST, words, tmp_path / "two", has_times=True)


def test_programs_known_to_bypass_mpi_io_must_do_so(job, tmp_path):
    job(b"abc", b"abc")
    assert trial.past_us(HOST, words, tmp_path / "one", "why") == "same bytes, no access seen: why"
    job(b"abc", b"abc", SAW)
    with pytest.raises(WrongError, match="12 accesses"):
        trial.past_us(HOST, words, tmp_path / "two", "why")


def test_without_mpi_finalize_the_accesses_are_those_explained():
    told = ["oratorio: a: collective write 1: 9 bytes of 2 ranks", "oratorio: a: independent read 2: 9 bytes"]
    assert trial.accesses("\n".join(told)) == 2


@pytest.mark.parametrize(
    ("of_debian", "of_its_project"),
    [("1:4.10.1-2", "4.10.1"), ("1.10.8+repack1-1", "1.10.8"), ("6.0.0~rc2-2", "6.0.0rc2")],
)
def test_versions_are_printed_as_their_projects_name_them(of_debian, of_its_project):
    assert releases.upstream(of_debian) == of_its_project


def row(run) -> Neighbour:
    return Neighbour("it", "Debian", "mpich5", lambda: "1.2", "blocks", run)


def outcome_of(error: Exception):
    def run(folder):
        raise error

    return command.look(row(run))


def test_a_row_is_skipped_if_something_is_missing_and_wrong_if_its_bytes_are(monkeypatch, tmp_path):
    monkeypatch.setattr(releases, "HOME", tmp_path)
    good = command.look(row(lambda folder: "same bytes"))
    missing, wrong = outcome_of(MissingError("no cargo")), outcome_of(WrongError("other bytes"))
    assert [one.state for one in (good, missing, wrong)] == [OK, SKIPPED, WRONG]
    table = command.table_of([good, missing, wrong])
    assert "| it | 1.2 | Debian | `mpich5` | blocks | same bytes |" in table
    assert "| skipped: no cargo |" in table and "| wrong: other bytes |" in table
    assert not list((tmp_path / "scratch").iterdir())


def test_output_is_placed_between_the_marks():
    page = f"before\n{command.BEGIN}old\n{command.END}after\n"
    made = markdown.with_generated_part(page, command.BEGIN, command.END, "new\n")
    assert made == f"before\n{command.BEGIN}new\n{command.END}after\n"
