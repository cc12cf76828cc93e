# SPDX-License-Identifier: BSD-3-Clause
"""Tests the exit codes: the table of the documentation, and a command for each code."""

import html
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_command_line import call  # noqa: F401  a fixture

from oratorio import command_line
from oratorio.errors import (
    CLOSED_PIPE,
    EXIT_CODES,
    FAILED,
    INTERRUPTED,
    KILLED_BY,
    NOT_EXECUTABLE,
    NOT_FOUND,
    REFUSED,
    TIMED_OUT,
)

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_the_documentation_is_the_table_of_the_code():
    page = (ROOT / "docs/user/stability.md").read_text().partition("\n## Exit codes\n")[2]
    rows = [
        [cell.strip() for cell in line[1:-1].split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    assert rows[0] == ["code", "`run`, `explain`", "`compare`", "other commands"]
    assert {code: tuple(meanings) for code, *meanings in rows[2:]} == EXIT_CODES


@pytest.fixture
def oratorio(call, tmp_path):  # noqa: F811
    """Returns a function that runs the command with a library that exists."""
    (tmp_path / "build/lib/liboratorio.so").write_bytes(b"")
    return lambda *words: call(*words, LD_PRELOAD="")


SHELL = ["sh", "-c"]


@pytest.mark.parametrize(
    "kind", [["run"], ["explain"], ["run", "--report", "page.html"], ["run", "--explain"]]
)
@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 1", FAILED), ("exit 2", REFUSED), ("exit 127", NOT_FOUND), ("exit 77", 77)],
)
def test_the_program_s_exit_code_wins(oratorio, kind, script, code):
    assert oratorio(*kind, "-q", *SHELL, script).returncode == code


def test_a_program_that_a_signal_ended_is_reported_as_by_a_shell(oratorio):
    assert oratorio("run", "-q", *SHELL, "kill -9 $$").returncode == -signal.SIGKILL  # the command's own end
    done = oratorio("run", "-q", "--report", "page.html", *SHELL, "kill -9 $$")
    assert done.returncode == KILLED_BY + signal.SIGKILL


FAULTS = [
    "rm -r pages",
    'echo "{" >"$ORATORIO_TRACE"',
    ': >"$ORATORIO_TRACE"',
    'printf "\\0\\377" >"$ORATORIO_EXPLAIN"',
    'rm -f "$ORATORIO_TRACE"; mkdir "$ORATORIO_TRACE"',
    "mkdir pages/page.html",
    'rm -f "$ORATORIO_EXPLAIN"; mkdir "$ORATORIO_EXPLAIN"',
    'echo "{\\"kind\\": \\"access\\"}" >"$ORATORIO_EXPLAIN"',
]


@pytest.mark.parametrize("script", FAULTS)
def test_no_fault_of_the_recording_hides_the_program_s_exit_code(oratorio, tmp_path, script):
    (tmp_path / "pages").mkdir()
    done = oratorio("run", "--report", "pages/page.html", *SHELL, f"{script}; exit 5")
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr


def test_a_page_shows_words_that_are_not_utf_8(oratorio, tmp_path):
    done = oratorio("run", "-q", "--report", "page.html", *SHELL, "exit 5", b"gr\366\337e")
    assert done.returncode == 5, done.stderr
    assert "gr\\udcf6\\udcdfe" in (tmp_path / "page.html").read_text()
    assert not list(tmp_path.glob(".page*"))


def test_explanations_that_cannot_be_read_cause_a_remark(oratorio, tmp_path):
    spoilt = ["-q", *SHELL, 'mkdir "$ORATORIO_EXPLAIN"; exit 5']
    done = oratorio("explain", "--json", *spoilt)
    assert done.returncode == 5, done.stderr
    told = "the explanations can't be read: Is a directory"
    assert json.loads(done.stdout)["explanations"] == [{"kind": "remark", "text": told}]
    assert oratorio("run", "--report", "page.html", *spoilt).returncode == 5
    assert told in html.unescape((tmp_path / "page.html").read_text())


def opened_for_writing(pipe: Path) -> int:
    """Opens a named pipe for writing as soon as a process reads it; returns the descriptor."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@pytest.mark.parametrize("kind", [["run", "--report", "page.html"], ["explain", "--json"]])
def test_ctrl_c_while_the_recording_is_read_leaves_the_program_s_exit_code(oratorio, tmp_path, kind):
    """Lets the command wait for the explanations, in a pipe that nobody writes to."""
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli"), "LD_PRELOAD": ""}
    script = 'mkfifo pipe; ln -s "$PWD/pipe" "$ORATORIO_EXPLAIN"; exit 5'
    job = subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "-m", "oratorio", *kind, "-q", *SHELL, script],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path,
    )  # fmt: skip
    writer = opened_for_writing(tmp_path / "pipe")
    job.send_signal(signal.SIGINT)
    _, told = job.communicate(timeout=60)
    os.close(writer)
    assert job.returncode == 5, told
    assert told.splitlines()[-1].endswith("interrupted")
    assert not list(tmp_path.glob(".oratorio-*"))


def test_a_page_in_a_folder_that_became_a_file_is_written_elsewhere(oratorio, tmp_path):
    (tmp_path / "pages").mkdir()
    done = oratorio("run", "--report", "pages/page.html", *SHELL, "rm -r pages; touch pages; exit 5")
    assert done.returncode == 5, done.stderr
    assert "page.html can't be written: Not a directory; choose another path; the page is in" in done.stderr
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize("kind", [["run"], ["explain"], ["run", "--report", "page.html"], ["compare"]])
def test_a_command_that_cannot_be_started_has_the_exit_code_of_a_shell(oratorio, tmp_path, kind):
    (tmp_path / "text").write_text("no program\n")
    (tmp_path / "odd").write_bytes(b"\0\1\2\3")
    (tmp_path / "odd").chmod(0o755)
    for words, code in [
        (["no-such-command"], NOT_FOUND),
        (["./no-such-command"], NOT_FOUND),
        (["./text"], NOT_EXECUTABLE),
        ([str(tmp_path)], NOT_EXECUTABLE),
        (["./odd"], NOT_EXECUTABLE),
    ]:
        done = oratorio(*kind, *words)
        assert done.returncode == code, (words, done.stderr)
        assert done.stderr.splitlines()[-1].startswith("oratorio: ")
        assert "Traceback" not in done.stderr


def test_compare_ends_with_the_program_s_exit_code(oratorio):
    assert oratorio("compare", "-q", *SHELL, "exit 9").returncode == 9
    # The program fails only with Oratorio.
    fails = '[ -n "$ORATORIO_DISABLE" ] || exit 8'
    assert oratorio("compare", "-q", "--method", "sieve", *SHELL, fails).returncode == 8
    late = oratorio("compare", "-q", "--timeout", "0.2", "sleep", "60")
    assert late.returncode == TIMED_OUT


def test_doctor_ends_with_1_if_a_line_is_bad(oratorio):
    assert oratorio("doctor", "--no-run", "./not-here").returncode == FAILED


PIPED = [["--help"], ["run", "--help"], ["info"], ["env"], ["doctor"]]


@pytest.mark.parametrize("words", PIPED)
def test_a_closed_pipe_ends_a_command_without_a_message(oratorio, tmp_path, words):
    """Closes the reading end before the command writes."""
    read, write = os.pipe()
    os.close(read)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli"), "LD_PRELOAD": ""}
    command = [sys.executable, "-m", "oratorio", *words]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path)
    os.close(write)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, "")


def test_a_program_behind_a_closed_pipe_ends_as_without_oratorio(oratorio, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli"), "LD_PRELOAD": ""}
    script = f'"{sys.executable}" -m oratorio run -q yes 2>errors | head -1; wait; cat errors'
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60
    )
    assert done.stdout.startswith("y\n") and "Broken pipe" not in done.stdout


def full_disk():
    return Path("/dev/full").open("wb")


def closed_pipe():
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "wb")


@pytest.mark.parametrize(
    ("opened", "why"), [(full_disk, "No space left on device"), (closed_pipe, "Broken pipe")]
)
def test_a_document_that_cannot_be_printed_leaves_the_program_s_exit_code(oratorio, tmp_path, opened, why):
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli"), "LD_PRELOAD": ""}
    with opened() as output:
        command = [sys.executable, "-m", "oratorio", "explain", "--json", "-q", *SHELL, "exit 3"]
        done = subprocess.run(
            command, stdout=output, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path
        )
    assert done.returncode == 3, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("oratorio: the explanations were not printed: ") and why in last


# A shell script that notes whether its standard output is open, and exits with 3.
NOTES_OUTPUT = "if [ -e /proc/$$/fd/1 ]; then echo open >noted; else echo closed >noted; fi; exit 3"


@pytest.mark.parametrize("kind", [["run"], ["run", "--report", "page.html"], ["explain", "--json"]])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_job_is_started_with_closed_streams(oratorio, tmp_path, kind, closed):
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli"), "LD_PRELOAD": ""}
    command = shlex.join([sys.executable, "-m", "oratorio", *kind, "sh", "-c", NOTES_OUTPUT])
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert done.returncode == 3, done.stderr
    # With --json the job's standard output is another file.
    is_closed = " >&-" in f" {closed}" and "--json" not in kind
    assert (tmp_path / "noted").read_text() == ("closed\n" if is_closed else "open\n")
    assert "Traceback" not in done.stderr and "oratorio: " not in done.stdout


def test_an_output_without_room_is_one_line(oratorio, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli")}
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "oratorio", "--help"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path)
    assert done.returncode == REFUSED
    assert done.stderr == "oratorio: standard output can't be written: No space left on device\n"


LEAVING = [["run", "--report", "page.html", "true"], ["explain", "--json", "true"], ["compare", "true"]]


@pytest.mark.parametrize("words", LEAVING)
def test_a_working_directory_that_was_removed_is_one_line(oratorio, tmp_path, words):
    (tmp_path / "gone").mkdir()
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli"), "LD_PRELOAD": ""}
    script = 'rmdir ../gone; exec "$0" -m oratorio "$@"'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, *words], capture_output=True, text=True, env=env,
        cwd=tmp_path / "gone",
    )  # fmt: skip
    assert done.returncode == REFUSED
    assert done.stderr == "oratorio: the working directory doesn't exist any more; change to another one\n"


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (PermissionError(13, "Permission denied", "/s/a"), "oratorio: /s/a: Permission denied\n"),
        (OSError(28, "No space left on device", "/s/a"), "oratorio: /s/a: No space left on device\n"),
        (KeyError("moved"), "KeyError: 'moved'\noratorio: this is a mistake in Oratorio: please report it"),
    ],
)
def test_an_error_that_no_command_expects_ends_with_2(monkeypatch, capsys, raised, told):
    def fail(words):
        raise raised

    monkeypatch.setattr(command_line, "call", fail)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == REFUSED
    said = capsys.readouterr().err
    assert told in said and ("Traceback" in said) == isinstance(raised, KeyError)


@pytest.mark.parametrize("kind", [["compare", "-q"], ["run", "-q"], ["run", "-q", "--report", "page.html"]])
def test_ctrl_c_ends_a_command_without_a_traceback(oratorio, tmp_path, kind):
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "cli"), "LD_PRELOAD": ""}
    script = "echo up >up; exec sleep 60"
    # Tests that a shell started in the background ignore the signal, so `env` restores its default action.
    heeding = ["env", "--default-signal=INT"]
    job = subprocess.Popen(
        [*heeding, sys.executable, "-m", "oratorio", *kind, "sh", "-c", script],
        stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "up").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(job.pid, signal.SIGINT)  # as the terminal does
    _, told = job.communicate(timeout=60)
    assert job.returncode in (INTERRUPTED, -signal.SIGINT), told
    assert "Traceback" not in told
