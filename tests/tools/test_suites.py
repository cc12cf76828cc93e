# SPDX-License-Identifier: BSD-3-Clause
"""Tests the suites of other projects: how programs are judged, which outcomes of a run are kept, and which
failures count as explained."""

import json

import pytest

from oratorio_lab.suites import report, runner
from oratorio_lab.suites.model import (
    ALL,
    FAIL,
    PASS,
    QUICK,
    SLOW,
    TIMEOUT,
    Archive,
    Finished,
    Program,
    says_no_errors,
)
from oratorio_lab.suites.sources import SourceError, _download

OUTCOMES = {
    "io": {
        "good": {"mpich5": {"host": "pass", "oratorio": "pass"}},
        "bad": {"mpich5": {"host": "pass", "oratorio": "fail"}, "openmpi5": {"host": "fail"}},
        "absent": {"mpich5": {"host": "skip", "oratorio": "skip"}},
    }
}


def note(tests=("bad",), hosts=("mpich5",), arms=("oratorio",)):
    return report.Note("io", hosts, arms, tests, "Because.")


def run(host, part):
    return report.Run("io", host, part, f"./oratorio --{part} '\"'", "2026-01-01", "x86_64")


def test_a_program_passes_only_with_the_line_and_the_exit_code():
    assert says_no_errors(Finished(0, "HINTS:\n No Errors\n", "")).outcome == PASS
    assert says_no_errors(Finished(0, "Found 1 errors\n", "")).outcome == FAIL
    assert says_no_errors(Finished(1, " No Errors\n", "")).outcome == FAIL
    assert says_no_errors(Finished(0, "not No Errors at all\n", "")).outcome == FAIL


def test_the_complaint_is_the_first_line_that_is_not_the_launchers():
    run = Finished(1, "buf[0] = 7\n", "=====\n[proxy:0] killed\nMPI_File_open: no such file\nAbort(1)\n")
    assert run.complaint() == "MPI_File_open: no such file"
    assert Finished(1, "buf[0] = 7\n", "").complaint() == "buf[0] = 7"
    assert Finished(3, "", "").complaint() == "exit code 3"


def test_written_files_read_back_the_same(tmp_path):
    file = tmp_path / "conformance.toml"
    runs = [run("mpich5", ALL), run("openmpi5", QUICK)]
    report.write_outcomes(OUTCOMES, runs, file)
    assert report.load_outcomes(file) == OUTCOMES
    assert report.load_runs(file) == runs


def test_a_run_supersedes_only_those_whose_results_it_replaced():
    quick, slow, other = run("mpich5", QUICK), run("mpich5", SLOW), run("openmpi5", ALL)
    assert report.with_run([quick, other], slow) == [quick, other, slow]
    assert report.with_run([quick, slow, other], quick) == [slow, other, quick]
    everything = run("mpich5", ALL)
    assert report.with_run([quick, slow, other], everything) == [other, everything]
    assert report.with_run([everything], slow) == [everything, slow]


def test_the_slow_programs_are_what_quick_leaves_out():
    fast, slow = Program("fast", ()), Program("slow", (), is_slow=True)
    assert [one.is_in(QUICK) for one in (fast, slow)] == [True, False]
    assert [one.is_in(SLOW) for one in (fast, slow)] == [False, True]
    assert fast.is_in(ALL) and slow.is_in(ALL)


def test_only_a_note_for_that_test_host_and_mpi_io_explains():
    left = [("io", "bad", "mpich5", "oratorio"), ("io", "bad", "openmpi5", "host")]
    skipped = [("io", "absent", "mpich5", arm) for arm in ("host", "oratorio")]
    assert report.unexplained(OUTCOMES, []) == left + skipped
    assert report.unexplained(OUTCOMES, [note()]) == left[1:] + skipped
    assert report.unexplained(OUTCOMES, [note(hosts=("openmpi5",))]) == left + skipped
    everywhere = note(("bad", "absent"), ("mpich5", "openmpi5"), ("host", "oratorio"))
    assert report.unexplained(OUTCOMES, [everywhere]) == []


def test_a_note_on_a_test_that_passes_is_stale():
    assert report.stale(OUTCOMES, [note()]) == []
    assert report.stale(OUTCOMES, [note(("good", "bad"))]) == ["io/good"]
    assert report.stale(OUTCOMES, [note(("gone",))]) == ["io/gone"]


def test_oratorio_is_behind_where_only_the_host_passes():
    assert report.behind(OUTCOMES) == [("io", "bad", "mpich5")]


def test_a_skipped_test_is_not_counted():
    assert report.count(OUTCOMES, "io", "mpich5", "host") == "2 of 2"
    assert report.count(OUTCOMES, "io", "mpich5", "oratorio") == "1 of 2"
    assert report.count(OUTCOMES, "io", "openmpi5", "oratorio") == ""


def write_records(folder, rank, records):
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / f"{rank}.jsonl").write_text(text)


def test_the_worst_rank_counts(tmp_path):
    write_records(tmp_path, 0, [["a", "began", ""], ["a", "passed", ""]])
    write_records(tmp_path, 1, [["a", "began", ""], ["a", "failed", "Traceback\nValueError: 7"]])
    results = runner.results_of(runner.read_records(tmp_path))
    assert (results["a"].outcome, results["a"].detail) == (FAIL, "ValueError: 7")


def test_of_a_job_that_was_cut_only_the_first_unfinished_test_is_blamed(tmp_path):
    write_records(tmp_path, 0, [["a", "began", ""]])
    write_records(tmp_path, 1, [["a", "began", ""], ["a", "passed", ""], ["b", "began", ""]])
    results = runner.results_of(runner.read_records(tmp_path))
    assert {name: result.outcome for name, result in results.items()} == {"a": TIMEOUT}


def test_an_archive_with_other_bytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("oratorio_lab.suites.sources.WORK", tmp_path)
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives/some.tar.xz").write_bytes(b"something else")
    with pytest.raises(SourceError, match="SHA-256"):
        _download(Archive("some", "1.0", "some.tar.xz", "0" * 64, ("test/",)))
