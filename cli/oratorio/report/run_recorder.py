# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command that records a trace and explanations, and reads both after the command has ended."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Union

from oratorio.errors import OratorioError, leave, tell
from oratorio.launch import launch
from oratorio.machine.room import first_with_room, is_full, other_folders
from oratorio.report import explained
from oratorio.report.facts import Run
from oratorio.trace import trace

EXPLAIN = "explain.json"
RECORDING = ("ORATORIO_TRACE", "ORATORIO_EXPLAIN")
GRACE_SECONDS = 10  # seconds from SIGTERM to SIGKILL
POLL_SECONDS = 0.02  # seconds between two checks of whether a job has ended
# A handler as signal.signal takes it; Python 3.9 has no | of types.
Handler = Union[Callable[[int, object], object], int, None]  # noqa: UP007
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class RecordError(OratorioError):
    """Raised if nothing could be recorded; the message says why and what to do."""


def _with_room(folder: Path) -> Path:
    """Returns `folder`. If it is full, prints a message and returns another folder with room. Raises
    RecordError if there is none."""
    try:
        if not is_full(folder):
            return folder
    except OSError as error:
        raise RecordError(
            f"{folder}, the folder for the recording, can't be written to: {error.strerror}; use another one"
        ) from None
    others = other_folders()
    other = first_with_room(others)
    if other is None:
        tried = ", ".join(map(str, dict.fromkeys([folder, *others])))
        raise RecordError(
            f"no folder has room for the recording (tried {tried}); free some space, or set TMPDIR to a "
            "folder with room that all nodes see"
        )
    tell(f"{folder} is full, so the recording is in {other} while the program runs; all nodes must see it")
    return other


@contextmanager
def _place(folder: Path) -> Iterator[Path]:
    """Yields a new folder inside `folder`, or inside another folder if `folder` is full, and removes the new
    folder afterwards. All nodes must see it."""
    made = Path(tempfile.mkdtemp(prefix=".oratorio-", dir=_with_room(folder)))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _signals_kept() -> Iterator[Callable[[Mapping[int, Handler]], None]]:
    """Holds back signals until the job has started, because before that they can neither be passed on to the
    job nor end it.

    Yields a function heard_by(handlers), which sets the handlers and then delivers the signals that were
    held back. A signal without an entry in `handlers` gets its former handler back. A signal that was ignored
    when this process started stays ignored, in the job, too.
    """
    early: list[int] = []
    numbers = [n for n in (*PASSED_ON, signal.SIGINT) if signal.getsignal(n) != signal.SIG_IGN]
    before = {n: signal.signal(n, lambda number, frame: early.append(number)) for n in numbers}

    def heard_by(handlers: Mapping[int, Handler]) -> None:
        for number, handler in before.items():
            signal.signal(number, handlers.get(number, handler))
        while early:
            signal.raise_signal(early.pop(0))

    try:
        yield heard_by
    finally:
        heard_by({})


def _signal_group(job: subprocess.Popen, number: int) -> bool:
    """Sends a signal to all processes of a job that has a group of its own; the number 0 sends nothing.
    Returns whether a process exists."""
    job.poll()  # the group exists until its leader is reaped
    try:
        os.killpg(job.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # those that are left belong to another user
        pass
    return True


def _end_group(job: subprocess.Popen, number: int) -> None:
    """Sends a signal to all processes of a job, and waits until they have ended, but not longer than
    GRACE_SECONDS."""
    deadline = time.monotonic() + GRACE_SECONDS
    is_left = _signal_group(job, number)
    while is_left and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        is_left = _signal_group(job, 0)


def _end(job: subprocess.Popen) -> None:
    """Ends a job with all its processes. SIGTERM comes first, because launchers pass it on to their ranks.
    If another signal interrupts the wait, SIGKILL comes at once."""
    try:
        _end_group(job, signal.SIGTERM)
    finally:
        _end_group(job, signal.SIGKILL)


def _code(returned: int) -> int:
    """Returns the exit code that a shell reports for a return code of Popen."""
    return 128 - returned if returned < 0 else returned


def _started(prepared: launch.Launch, **options: Any) -> subprocess.Popen:
    """Starts a job. Raises LaunchError if the system refuses."""
    try:
        return subprocess.Popen(prepared.argv, env={**os.environ, **prepared.env}, **options)
    except OSError as error:
        raise launch.not_started(prepared.argv[0], error) from None


def attached(prepared: launch.Launch, **options: Any) -> int:
    """Runs a job with this process's terminal, and passes signals on to it; returns the job's exit code.
    `options` are passed to subprocess.Popen."""
    with _signals_kept() as heard_by, _started(prepared, **options) as job:

        def pass_on(number: int, frame: object) -> None:
            del frame
            with suppress(ProcessLookupError):
                job.send_signal(number)

        # Signals sent to this process are meant for the job, so they are passed on. The terminal's interrupt
        # reaches the job anyway, so it is ignored here.
        heard_by({**dict.fromkeys(PASSED_ON, pass_on), signal.SIGINT: lambda number, frame: None})
        return _code(job.wait())


def apart(prepared: launch.Launch, seconds_max: float, said: Path) -> int | None:
    """Runs a job for at most `seconds_max`, with its output in the file `said`. Returns its exit code, or
    None if it was ended at the time limit."""
    with said.open("wb") as out, _signals_kept() as heard_by:
        job = _started(
            prepared, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            heard_by({signal.SIGTERM: leave, signal.SIGHUP: leave})
            return _code(job.wait(seconds_max))
        except subprocess.TimeoutExpired:
            _end(job)
            return None
        except BaseException:
            _end(job)
            raise


def _explanations(place: Path) -> str:
    """Returns the lines of explanations that a job has left in a folder. If they can't be read, returns a
    line that says so: such a line is a remark."""
    try:
        return (place / EXPLAIN).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"the explanations can't be read: {error.strerror}\n"


def _explained_by(lines: str) -> explained.Explained:
    """Returns the explanations that a run has left, with a remark if some can't be read."""
    try:
        return explained.read(lines)
    except explained.ExplainedError as error:
        error.told.remarks.append(str(error))
        return error.told


def read_run(trace_file: Path, explain_file: Path | None) -> Run:
    """Reads the trace of an earlier run, and its explanations if `explain_file` isn't None. Raises
    OratorioError."""
    run = Run(trace.read(trace_file), began=trace.began(trace_file))
    if explain_file:
        try:
            run.explained = explained.read(explain_file.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise RecordError(
                f"{explain_file} can't be read: {error.strerror}; ORATORIO_EXPLAIN=FILE.json makes one"
            ) from None
        except explained.ExplainedError as error:
            raise RecordError(f"{explain_file}: {error}") from None
    return run


def _run_that_ended(trace_file: Path, is_new: bool, place: Path) -> Run:
    """Reads what a run has left, complete or not. Reads the trace only if `is_new`: the run itself wrote
    it."""
    run = Run([], _explained_by(_explanations(place)))
    try:
        # The library makes the file at the first close, and leaves it empty if it can't write to it.
        if is_new and trace_file.stat().st_size:
            run.files = trace.read(trace_file)
    except (OratorioError, OSError) as error:
        run.unread = str(error)
    if not run.files:
        with suppress(OSError):
            folders = dict.fromkeys((place.parent, trace_file.absolute().parent))
            full = [str(folder) for folder in folders if folder != place and is_full(folder)]
            run.full_folder = full[0] if full else ""
    return run


def _why_lost(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError):
        return "there is too little memory"
    return str(error) if isinstance(error, (OratorioError, OSError)) else repr(error)


class Recorder:
    """Runs jobs and records each one separately.

    `folder` holds the recordings while a job runs; all nodes must see it.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ
        # The exit code of the last job that ended; None before that, or if it was ended at its time limit.
        self.exit_code: int | None = None

    @contextmanager
    def code_kept(self, lost: str) -> Iterator[None]:
        """Makes a context in which errors and Ctrl-C are raised until a job has ended. After that they are
        only printed, behind the text `lost`, because the job's exit code matters more."""
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            if self.exit_code is None:
                raise
            tell(f"{lost}: {_why_lost(error)}")

    def attached(
        self, words: Sequence[str], variables: Mapping[str, str], describe: Callable[[launch.Launch], None]
    ) -> tuple[Run, str]:
        """Runs a job with this process's terminal and signals; returns the run and its explanations. Calls
        `describe` before the job begins."""
        with _place(self._folder) as place:
            # If the user set ORATORIO_TRACE, the trace is written to that file and read from it.
            own = self._environ.get("ORATORIO_TRACE", "0")
            kept = {"0": None, "": None, "1": Path("oratorio-trace.json")}.get(own, Path(own))
            trace_file = kept or place / "trace.json"
            before = trace_file.stat().st_mtime_ns if trace_file.exists() else None
            prepared = self._prepared(words, variables, trace_file, place)
            describe(prepared)
            run = self._recorded(prepared, lambda: attached(prepared), trace_file, place, before)
            run.command = shlex.join(words)
            return run, explained.text_of(_explanations(place))

    def explained(
        self, words: Sequence[str], variables: Mapping[str, str], describe: Callable[[launch.Launch], None]
    ) -> tuple[int, list[dict[str, Any]]]:
        """Runs a job as attached() does, without a trace, and with standard error as its standard output;
        returns its exit code and its explanations as objects. Calls `describe` before the job begins."""
        with _place(self._folder) as place:
            recorded = {**variables, "ORATORIO_EXPLAIN": str(place / EXPLAIN)}
            prepared = launch.prepare(words, recorded, self._environ)
            describe(prepared)
            self.exit_code = attached(prepared, stdout=sys.stderr)
            return self.exit_code, list(explained.objects_of(_explanations(place)))

    def apart(
        self, words: Sequence[str], variables: Mapping[str, str] | None, seconds_max: float
    ) -> tuple[Run, str]:
        """Runs a job in a session of its own; returns the run and its output. The run has no exit code if it
        was ended after `seconds_max`.

        With `variables` None the command runs as it stands, without Oratorio.
        """
        with _place(self._folder) as place:
            said, trace_file = place / "said.txt", place / "trace.json"
            prepared = launch.Launch(list(words), {"ORATORIO_DISABLE": "1"}, None, None, [])
            if variables is not None:
                prepared = self._prepared(words, variables, trace_file, place)
            run = self._recorded(
                prepared, lambda: apart(prepared, seconds_max, said), trace_file, place, None
            )
            return run, said.read_text(encoding="utf-8", errors="replace")

    def _prepared(
        self, words: Sequence[str], variables: Mapping[str, str], trace_file: Path, place: Path
    ) -> launch.Launch:
        recorded = {"ORATORIO_TRACE": str(trace_file.absolute()), "ORATORIO_EXPLAIN": str(place / EXPLAIN)}
        return launch.prepare(words, {**variables, **recorded}, self._environ)

    def _recorded(
        self, prepared: launch.Launch, work: Callable[[], int | None], trace_file: Path, place: Path,
        before: int | None,
    ) -> Run:  # fmt: skip
        began, clock = time.time(), time.monotonic()
        self.exit_code = work()
        seconds = time.monotonic() - clock
        is_new = trace_file.exists() and trace_file.stat().st_mtime_ns != before
        run = _run_that_ended(trace_file, is_new, place)
        run.exit_code, run.wall_seconds, run.began = self.exit_code, seconds, began
        run.program = prepared.needs.reason if prepared.needs else ""
        named = {key: value for key, value in self._environ.items() if key.startswith("ORATORIO_")}
        run.environment = {key: value for key, value in named.items() if key not in RECORDING}
        return run
