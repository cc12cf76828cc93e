# SPDX-License-Identifier: BSD-3-Clause
"""Tests jobs that are recorded: their words, exit codes and signals do not change, and nothing is left
behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_command_line import call  # noqa: F401  a fixture
from test_trace import two_ranks

from oratorio import command_line
from oratorio.launch import launch
from oratorio.report import page, run_recorder

# A shell command that writes the trace that a job with Oratorio would write.
WRITES = 'cp whole.json "$ORATORIO_TRACE"; '
END = {"kind": "end", "text": "saw 4 accesses", "version": "0.2.0", "accesses": 4, "files": 1}
WRITES += f"echo '{json.dumps(END)}' >\"$ORATORIO_EXPLAIN\""


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Returns a function that makes the words of a job from a shell script. Nothing is preloaded."""
    (tmp_path / "whole.json").write_text(json.dumps(two_ranks()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "prepare", lambda words, variables, environ: launch.Launch(
        list(words), dict(variables), None, None, []))  # fmt: skip
    return lambda script: ["sh", "-c", script]


def left(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {"whole.json", "tools", "build"}


def ends(program: Path) -> bool:
    """Returns whether the process behind this link in /proc ends in time. A killed process may remain for a
    moment."""
    deadline = time.monotonic() + 20
    while program.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not program.exists()


def test_a_single_run_is_recorded(job, tmp_path):
    run, said = run_recorder.Recorder(tmp_path, {}).apart(
        job(f"{WRITES}; echo out; echo err >&2; exit 3"), {}, 60
    )
    assert (run.exit_code, run.accesses, run.explained.saw) == (3, 5, (4, 1))
    assert said == "out\nerr\n"
    assert left(tmp_path) == set()


def test_a_command_without_variables_is_started_as_it_stands(job, tmp_path):
    run, said = run_recorder.Recorder(tmp_path, {}).apart(job('echo "<$ORATORIO_TRACE>"'), None, 60)
    assert (run.exit_code, run.files, said) == (0, [], "<>\n")


def test_a_job_that_takes_too_long_is_ended_with_all_its_processes(job, tmp_path):
    run, said = run_recorder.Recorder(tmp_path, {}).apart(job("sleep 1000 & echo $!; wait"), {}, 0.5)
    assert run.exit_code is None
    assert ends(Path(f"/proc/{said.strip()}/exe")), "a process of the job is left"
    assert left(tmp_path) == set()


# A shell script of a job whose shell dies of SIGTERM. The program behind it acts on SIGTERM by {action}.
SURVIVED = "(trap '{action}' TERM; echo up; while :; do sleep 0.05; done) & echo $!; wait"


def test_a_program_that_ignores_the_end_of_its_job_is_killed(job, tmp_path, monkeypatch):
    monkeypatch.setattr(run_recorder, "GRACE_SECONDS", 0.5)
    run, said = run_recorder.Recorder(tmp_path, {}).apart(job(SURVIVED.format(action="")), {}, 0.5)
    assert run.exit_code is None
    pid = next(line for line in said.splitlines() if line.isdigit())
    assert not Path(f"/proc/{pid}/exe").exists(), "a process of the job is left"


def test_a_program_has_time_to_end_after_its_launcher(job, tmp_path):
    ends_slowly = "sleep 0.5; echo done; exit"
    _, said = run_recorder.Recorder(tmp_path, {}).apart(job(SURVIVED.format(action=ends_slowly)), {}, 0.5)
    assert said.splitlines()[-1] == "done"


def test_a_trace_that_the_user_requested_stays(job, tmp_path):
    recorder = run_recorder.Recorder(tmp_path, {"ORATORIO_TRACE": "mine.json", "ORATORIO_METHOD": "naive"})
    run, explained = recorder.attached(job(WRITES), {}, lambda prepared: None)
    assert (run.exit_code, run.accesses) == (0, 5)
    assert "saw 4 accesses" in explained
    assert left(tmp_path) == {"mine.json"}
    assert run.environment == {"ORATORIO_METHOD": "naive"}


def test_an_old_trace_is_not_taken_for_the_run_s(job, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(two_ranks()))
    run, _ = run_recorder.Recorder(tmp_path, {"ORATORIO_TRACE": "mine.json"}).attached(
        job("true"), {}, lambda prepared: None
    )
    assert run.files == []


def test_an_unwritable_folder_is_reported_before_the_job_starts(job, tmp_path):
    with pytest.raises(run_recorder.RecordError, match="can't be written to"):
        run_recorder.Recorder(tmp_path / "none", {}).attached(job("touch started"), {}, lambda prepared: None)
    assert left(tmp_path) == set()


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("too deep"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", [run_recorder.trace, page])
def test_whatever_prevents_the_page_leaves_the_job_s_exit_code(job, monkeypatch, capfd, place, error):
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(place, "read" if place is run_recorder.trace else "write", fails)
    words = ["run", "-q", "--report", "page.html", *job(f"{WRITES}; exit 7")]
    assert command_line.call(words) == 7
    assert capfd.readouterr().err.startswith("oratorio: the report was not made: ")


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_exit_code_of_a_reported_run_is_the_job_s(call, script, code, tmp_path):  # noqa: F811
    (tmp_path / "build/lib/liboratorio.so").write_bytes(b"")
    done = call("run", "-q", "--report", str(tmp_path / "page.html"), "sh", "-c", script, LD_PRELOAD="")
    assert done.returncode == code, done.stderr
    assert "Nothing was recorded" in (tmp_path / "page.html").read_text()


# A shell script of a job that prints a line when it is up, and exits with 5 on SIGTERM.
UNTIL_TOLD = "trap 'echo got; exit 5' TERM; echo up; while :; do sleep 0.05; done"
RUN_IN_OUR_PLACE = "print(recorded.attached(launch.Launch(['sh', '-c', sys.argv[1]], {}, None, None, [])))\n"


@pytest.fixture
def in_place():
    """Yields a function that starts a Python script, which runs a job with run_recorder and receives the
    signals that a test sends; ends the scripts and jobs after the test."""
    imports = (
        "import os, signal, subprocess, sys; from oratorio.launch import launch; from "
        "oratorio.report import run_recorder as recorded\n"
    )
    environ = {
        **os.environ,
        "PYTHONPATH": ":".join(
            str(Path(__file__).resolve().parents[2] / name) for name in ("cli", "lab", "dev")
        ),
    }
    started = []

    def run(script: str, job: str = UNTIL_TOLD) -> subprocess.Popen:
        words = [sys.executable, "-u", "-c", imports + script, job]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(words, stdout=pipe, text=True, env=environ, start_new_session=True))
        return started[-1]

    yield run
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)
        one.stdout.close()
        one.wait()


def test_a_signal_is_passed_on_and_the_exit_code_is_reported(in_place):
    script = in_place(RUN_IN_OUR_PLACE)
    assert script.stdout.readline() == "up\n"
    script.send_signal(signal.SIGTERM)
    assert script.communicate(timeout=60) == ("got\n5\n", None)
    assert script.returncode == 0


def test_a_signal_that_comes_while_the_job_starts_is_passed_on(in_place):
    """Sends the signal when the job runs, but its parent has not yet returned from starting it."""
    told_at_once = (
        "start = subprocess.Popen\n"
        "def told(*words, **options):\n"
        "    job = start(*words, **options, stdout=subprocess.PIPE)\n"
        "    job.stdout.readline()\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return job\n"
        "subprocess.Popen = told\n"
    )
    script = in_place(told_at_once + RUN_IN_OUR_PLACE)
    assert script.communicate(timeout=60) == ("5\n", None)
    assert script.returncode == 0


def test_a_signal_that_comes_while_a_job_apart_starts_ends_it(in_place, tmp_path):
    ended_at_once = (
        "from pathlib import Path\n"
        "start = subprocess.Popen\n"
        "def ended(*words, **options):\n"
        "    job = start(*words, **options)\n"
        "    print(job.pid)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return job\n"
        "subprocess.Popen = ended\n"
        "job = launch.Launch(['sleep', '1000'], {}, None, None, [])\n"
        f"recorded.apart(job, 100, Path({str(tmp_path / 'said')!r}))\n"
    )
    script = in_place(ended_at_once)
    pid, _ = script.communicate(timeout=60)
    assert script.returncode == 128 + signal.SIGTERM
    assert not Path(f"/proc/{pid.strip()}").exists(), "the job continues after its recorder ended"


def test_a_second_signal_ends_a_job_apart_that_ignores_the_first(in_place, tmp_path):
    script = in_place(
        "from pathlib import Path\n"
        "job = launch.Launch(['sh', '-c', sys.argv[1]], {}, None, None, [])\n"
        f"recorded.apart(job, 100, Path({str(tmp_path / 'said')!r}))\n",
        "trap 'echo told' TERM; echo $$; while :; do sleep 0.05; done",
    )
    said = tmp_path / "said"
    for lines in (1, 2):  # the number of its process, and the line that it prints on SIGTERM
        deadline = time.monotonic() + 60
        while not said.exists() or len(said.read_text().splitlines()) < lines:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        script.send_signal(signal.SIGTERM)
    script.communicate(timeout=5)
    assert script.returncode == 128 + signal.SIGTERM
    assert not Path(f"/proc/{said.read_text().split()[0]}").exists(), (
        "the job continues after its recorder ended"
    )


def test_a_signal_is_not_lost_with_a_job_that_cannot_start(in_place):
    told_for_nothing = (
        "def told(*words, **options):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    raise FileNotFoundError\n"
        "subprocess.Popen = told\n"
        "try:\n"
        "    recorded.attached(launch.Launch(['nothing'], {}, None, None, []))\n"
        "except FileNotFoundError:\n"
        "    print('went on')\n"
    )
    script = in_place(told_for_nothing)
    assert script.communicate(timeout=60) == ("", None)
    assert script.returncode == -signal.SIGTERM


def test_a_job_inherits_ignored_signals(in_place):
    """Starts the recorder with SIGHUP ignored, as nohup does."""
    ignored = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    script = in_place(ignored + RUN_IN_OUR_PLACE, "kill -HUP $$; echo here")
    assert script.communicate(timeout=60) == ("here\n0\n", None)


def test_a_page_that_cannot_be_written_is_reported(call, tmp_path):  # noqa: F811
    done = call("run", "-q", "--report", str(tmp_path / "none/page.html"), "sh", "-c", "touch started")
    assert done.returncode == 2
    assert "the folder for the recording, can't be written to" in done.stderr
    assert not (tmp_path / "started").exists()
