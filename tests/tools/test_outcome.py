# SPDX-License-Identifier: BSD-3-Clause
"""Tests the messages about runs that recorded no access: ended early, without MPI-IO, or on a full disk."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import run
from test_command_line import call  # noqa: F401  a fixture

from oratorio.machine import room
from oratorio.report import run_recorder
from oratorio.report.explained import Explained, read
from oratorio.report.outcome import last_words, why_nothing

OPENED = '{"kind": "hints", "text": "hints of a.dat"}\n'
END = '{"kind": "end", "text": "saw", "version": "0.2.0", "accesses": %d, "files": %d}\n'


@pytest.mark.parametrize(
    ("lines", "more", "says"),
    [
        (OPENED, {"exit_code": 137}, "ended before it closed a file, with exit code 137"),
        (OPENED, {"exit_code": 0}, "ended before it closed a file"),
        (END % (0, 0), {"exit_code": 0}, "ran without any MPI-IO"),
        (END % (0, 0), {"exit_code": 3}, "ran without any MPI-IO"),
        (OPENED + END % (4, 2), {"exit_code": 7}, "ended before it closed a file, with exit code 7"),
        (END % (0, 2), {}, "saw 2 opened files, but no access"),
        (OPENED + END % (4, 2), {}, "saw 4 accesses to 2 files on rank 0, but no file was closed"),
        (OPENED, {"full_folder": "/scratch", "exit_code": 1}, "because /scratch is full"),
        (OPENED, {"unread": "t.json ends early"}, "the trace can't be read: t.json ends early"),
        ("", {"exit_code": 1}, "ended before its first access through MPI-IO, with exit code 1"),
        ("", {"exit_code": 0}, "Oratorio was not loaded, or no file was opened"),
        ('{"kind": "off", "text": "off"}\n', {}, "is off"),
    ],
)
def test_why_nothing_was_recorded(lines, more, says):
    assert says in why_nothing(run(explained=read(lines), **more))[0]


def test_a_line_that_a_full_disk_has_cut_is_no_remark():
    assert read(OPENED + '{"kind": "acc').remarks == []
    assert read("a remark").remarks == ["a remark"]
    assert not Explained().opened


HYDRA = """{}
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 4711 RUNNING AT here
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
OPENMPI = """{}
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[49262,1],0]
  Exit code:    3
--------------------------------------------------------------------------
"""


@pytest.mark.parametrize("launcher", ["{}", HYDRA, OPENMPI])
def test_the_program_s_last_line_is_shown_and_not_its_launcher_s(launcher):
    assert last_words(launcher.format("first\nno such input")) == "no such input"


def test_a_program_without_output_has_the_launcher_s_reason():
    assert last_words(HYDRA.format("")).endswith("EXIT STRING: Killed (signal 9)")
    assert last_words(OPENMPI.format("")) == "Exit code:    3"
    assert last_words("") == "no output"


def test_a_folder_without_room_is_passed_over(tmp_path, monkeypatch):
    full, free = tmp_path / "full", tmp_path / "free"
    full.mkdir()
    free.mkdir()
    is_full = room.is_full
    monkeypatch.setattr(room, "is_full", lambda folder: folder == full or is_full(folder))
    assert room.first_with_room([tmp_path / "missing", full, free]) == free
    assert room.first_with_room([full]) is None


def test_where_no_folder_has_room_the_message_names_those_tried(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_recorder, "is_full", lambda folder: True)
    monkeypatch.setattr(room, "is_full", lambda folder: True)
    monkeypatch.setattr(room.tempfile, "tempdir", "/other")
    with pytest.raises(run_recorder.RecordError) as told:
        run_recorder.Recorder(tmp_path, {}).apart(["true"], None, 60)
    assert f"no folder has room for the recording (tried {tmp_path}, /other)" in str(told.value)


def test_there_may_be_no_folder_for_temporary_files(tmp_path, monkeypatch):
    def missing():
        raise FileNotFoundError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(room.tempfile, "gettempdir", missing)
    assert room.other_folders() == [tmp_path]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_quota_counts_as_full_and_a_missing_folder_does_not(tmp_path, monkeypatch, number):
    assert not room.is_full(tmp_path)
    with pytest.raises(FileNotFoundError):
        room.is_full(tmp_path / "missing")

    def refuse(**options):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(room.tempfile, "TemporaryFile", refuse)
    assert room.is_full(tmp_path)


@pytest.fixture
def on_small_disk(call, tmp_path):  # noqa: F811
    """Returns a function that runs a shell script in which `small` is a disk of 4 MiB."""
    (tmp_path / "small").mkdir()
    (tmp_path / "build/lib/liboratorio.so").write_bytes(b"")
    small = "mount -t tmpfs -o size=4m none small || exit 99; "

    def run_script(script: str) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "PYTHONPATH": str(tmp_path / "cli"),
            "LD_PRELOAD": "",
            "ORATORIO": sys.executable,
        }
        command = ["unshare", "--mount", "sh", "-c", small + script]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
        if done.returncode == 99 or "unshare" in done.stderr:
            pytest.skip(f"no mount here: {done.stderr}")
        return done

    return run_script


FILL = "head -c 9999999 /dev/zero >small/filler 2>/dev/null"
REPORT = '"$ORATORIO" -m oratorio run --report small/page.html'


def test_a_disk_that_a_program_fills_is_named_and_the_page_is_elsewhere(on_small_disk, tmp_path):
    done = on_small_disk(f"{REPORT} sh -c ': >\"$ORATORIO_TRACE\"; {FILL}; exit 6'")
    assert done.returncode == 6, done.stderr
    assert "nothing was recorded: the recording is missing or incomplete, because" in done.stderr
    assert f"{tmp_path}/small is full" in done.stderr and f"the page is in {tmp_path} instead" in done.stderr
    assert "small is full" in (tmp_path / "page.html").read_text()


def test_a_recording_begins_where_there_is_room(on_small_disk, tmp_path):
    done = on_small_disk(f"{FILL}; {REPORT} sh -c 'echo \"<$ORATORIO_TRACE>\"; exit 4'")
    assert done.returncode == 4, done.stderr
    assert f"small is full, so the recording is in {tmp_path} while the program runs" in done.stderr
    assert done.stdout.startswith(f"<{tmp_path}/.oratorio-")
    assert "the page is in" in done.stderr and (tmp_path / "page.html").exists()
    assert [path.name for path in Path(tmp_path).glob(".oratorio-*")] == []


def test_an_empty_trace_says_why(on_small_disk, tmp_path):
    done = on_small_disk(f': >small/trace.json; {FILL}; "$ORATORIO" -m oratorio report small/trace.json')
    assert done.returncode == 2
    assert f"small/trace.json is empty: {tmp_path}/small is full" in done.stderr
    done = on_small_disk(': >small/trace.json; "$ORATORIO" -m oratorio report small/trace.json')
    assert "is empty: no file was closed before the run ended, or the disk was full" in done.stderr
