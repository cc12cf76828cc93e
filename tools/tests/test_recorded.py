# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that are recorded: their words, exit codes and signals stay their own, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from oratorio import launch, recorded
from test_start import call  # noqa: F401  a fixture
from test_trace import two_ranks

# What a job with Oratorio would write, by a shell.
WRITES = 'cp whole.json "$ORATORIO_TRACE"; '
WRITES += 'echo "Oratorio 0.2.0 saw 4 accesses to 1 file on rank 0" >"$ORATORIO_EXPLAIN"'


@pytest.fixture
def job(tmp_path, monkeypatch):
    """The words of a job that does what a shell does; nothing is preloaded."""
    (tmp_path / "whole.json").write_text(json.dumps(two_ranks()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "prepare", lambda words, variables, environ: launch.Launch(
        list(words), dict(variables), None, None, []))  # fmt: skip
    return lambda script: ["sh", "-c", script]


def left(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {"whole.json", "tools", "build"}


def test_a_run_by_itself_is_recorded(job, tmp_path):
    run, said = recorded.Recorder(tmp_path, {}).apart(
        job(f"{WRITES}; echo out; echo err >&2; exit 3"), {}, 60
    )
    assert (run.exit_code, run.accesses, run.explained.saw) == (3, 5, (4, 1))
    assert said == "out\nerr\n"
    assert left(tmp_path) == set()


def test_a_command_without_variables_is_started_as_it_stands(job, tmp_path):
    run, said = recorded.Recorder(tmp_path, {}).apart(job('echo "<$ORATORIO_TRACE>"'), None, 60)
    assert (run.exit_code, run.files, said) == (0, [], "<>\n")


def test_a_job_that_takes_too_long_is_ended_with_all_its_processes(job, tmp_path):
    run, said = recorded.Recorder(tmp_path, {}).apart(job("sleep 1000 & echo $!; wait"), {}, 0.5)
    assert run.exit_code is None
    assert not Path(f"/proc/{said.strip()}/exe").exists(), "a process of the job is left"
    assert left(tmp_path) == set()


def test_a_trace_that_the_user_asked_for_stays(job, tmp_path):
    recorder = recorded.Recorder(tmp_path, {"ORATORIO_TRACE": "mine.json", "ORATORIO_METHOD": "naive"})
    run, explained = recorder.attached(job(WRITES), {}, lambda prepared: None)
    assert (run.exit_code, run.accesses) == (0, 5)
    assert "saw 4 accesses" in explained
    assert left(tmp_path) == {"mine.json"}
    assert run.environment == {"ORATORIO_METHOD": "naive"}


def test_an_old_trace_is_not_taken_for_the_run_s(job, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(two_ranks()))
    run, _ = recorded.Recorder(tmp_path, {"ORATORIO_TRACE": "mine.json"}).attached(
        job("true"), {}, lambda prepared: None
    )
    assert run.files == []


def test_a_folder_that_takes_no_recording_is_told_before_the_job_starts(job, tmp_path):
    with pytest.raises(recorded.RecordError, match="can't be written to"):
        recorded.Recorder(tmp_path / "none", {}).attached(job("touch started"), {}, lambda prepared: None)
    assert left(tmp_path) == set()


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_exit_code_of_a_reported_run_is_the_job_s(call, script, code, tmp_path):  # noqa: F811
    (tmp_path / "build/lib/liboratorio.so").write_bytes(b"")
    done = call("run", "-q", "--report", str(tmp_path / "page.html"), "sh", "-c", script, LD_PRELOAD="")
    assert done.returncode == code, done.stderr
    assert "Nothing was recorded" in (tmp_path / "page.html").read_text()


def test_a_signal_is_passed_on_and_the_page_is_written(tmp_path):
    (tmp_path / "tools").symlink_to(Path(__file__).resolve().parents[1])
    script = (
        "import sys; from pathlib import Path; from oratorio import launch, recorded\n"
        "words = ['sh', '-c', 'trap \"echo got; exit 5\" TERM; echo up; while :; do sleep 0.05; done']\n"
        "print(recorded.attached(launch.Launch(words, {}, None, None, [])))\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "tools")}
    with subprocess.Popen(
        [sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, text=True, env=environ
    ) as job:
        assert job.stdout.readline() == "up\n"
        job.send_signal(signal.SIGTERM)
        assert job.stdout.read() == "got\n5\n"
    assert job.returncode == 0


def test_a_page_that_cannot_be_written_is_told(call, tmp_path):  # noqa: F811
    done = call("run", "-q", "--report", str(tmp_path / "none/page.html"), "sh", "-c", "touch started")
    assert done.returncode == 2
    assert "let the page be in another folder" in done.stderr
    assert not (tmp_path / "started").exists()
