# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command with a trace and explanations that are read when it has ended."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from oratorio import explained, launch, trace
from oratorio.run_facts import Run

EXPLAIN = "explain.txt"
RECORDING = ("ORATORIO_TRACE", "ORATORIO_EXPLAIN")
GRACE_SECONDS = 10  # from the polite end of a job to the other one
Handler = Callable[[int, object], object] | int | None  # as signal.signal takes it
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class RecordError(Exception):
    """Nothing could be recorded; the text says why and what to do."""


@contextmanager
def _place(folder: Path) -> Iterator[Path]:
    """A folder where all nodes see it as they see `folder`, gone afterwards."""
    try:
        made = Path(tempfile.mkdtemp(prefix=".oratorio-", dir=folder))
    except OSError as error:
        raise RecordError(
            f"{folder} can't be written to: {error.strerror}; let the page be in another folder"
        ) from None
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _signals_kept() -> Iterator[Callable[[Mapping[int, Handler]], None]]:
    """Signals wait until a job that starts is known, as nobody could pass them on to it or end it before.

    `heard_by(handlers)` lets them come, those that waited first; a signal without a handler there has the
    one that it had. What whoever started us lets us ignore stays ignored, by the job too.
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


def leave(number: int, frame: object) -> None:
    """Ends us by an exception, so that a job apart, which is in a session of its own, is ended, too."""
    del frame
    raise SystemExit(128 + number)


def _end(job: subprocess.Popen) -> None:
    """A job with all its processes, first politely: launchers tell their ranks."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(job.pid, number)
        try:
            job.wait(GRACE_SECONDS)
            return
        except subprocess.TimeoutExpired:
            continue


def _code(returned: int) -> int:
    """As a shell tells of it."""
    return 128 - returned if returned < 0 else returned


def _environ(prepared: launch.Launch) -> dict[str, str]:
    return {**os.environ, **prepared.env}


def attached(prepared: launch.Launch) -> int:
    """Runs a job in our place, with our terminal and signals; its exit code."""
    with _signals_kept() as heard_by, subprocess.Popen(prepared.argv, env=_environ(prepared)) as job:

        def pass_on(number: int, frame: object) -> None:
            del frame
            with suppress(ProcessLookupError):
                job.send_signal(number)

        # What is told to us is meant for the job; the terminal's interrupt reaches it by itself.
        heard_by({**dict.fromkeys(PASSED_ON, pass_on), signal.SIGINT: lambda number, frame: None})
        return _code(job.wait())


def apart(prepared: launch.Launch, seconds_max: float, said: Path) -> int | None:
    """Runs a job whose output goes to a file, at most so long; its exit code, None if it was ended."""
    with said.open("wb") as out, _signals_kept() as heard_by:
        job = subprocess.Popen(
            prepared.argv, env=_environ(prepared), stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            heard_by({signal.SIGTERM: leave, signal.SIGHUP: leave})
            return _code(job.wait(seconds_max))
        except subprocess.TimeoutExpired:
            _end(job)
            return None
        except BaseException:
            _end(job)
            raise


def read_run(trace_file: Path, explain_file: Path | None) -> Run:
    """What was recorded; of a file that isn't there nothing was. Raises trace.TraceError."""
    told = explained.Explained()
    if explain_file and explain_file.exists():
        told = explained.read(explain_file.read_text(errors="replace"))
    if not trace_file.exists():
        return Run([], told)
    return Run(trace.read(trace_file), told, began=trace.began(trace_file))


class Recorder:
    """Runs jobs, each recorded by itself.

    `folder` is where the recordings lie meanwhile: all nodes must see it."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ

    def attached(
        self, words: Sequence[str], variables: Mapping[str, str], tell: Callable[[launch.Launch], None]
    ) -> tuple[Run, str]:
        """A run in our place, and what was explained of it; `tell` is called before it begins."""
        with _place(self._folder) as place:
            # A trace that the user asked for is written where it should be, and read there.
            own = self._environ.get("ORATORIO_TRACE", "0")
            kept = {"0": None, "": None, "1": Path("oratorio-trace.json")}.get(own, Path(own))
            trace_file = kept or place / "trace.json"
            before = trace_file.stat().st_mtime_ns if trace_file.exists() else None
            prepared = self._prepared(words, variables, trace_file, place)
            tell(prepared)
            run = self._recorded(prepared, lambda: attached(prepared), trace_file, place, before)
            run.command = shlex.join(words)
            explain_file = place / EXPLAIN
            return run, explain_file.read_text(errors="replace") if explain_file.exists() else ""

    def apart(
        self, words: Sequence[str], variables: Mapping[str, str] | None, seconds_max: float
    ) -> tuple[Run, str]:
        """A run by itself, and what it said; without an exit code if it was ended after that time.

        Without variables it is the command as it stands, without Oratorio."""
        with _place(self._folder) as place:
            said, trace_file = place / "said.txt", place / "trace.json"
            prepared = launch.Launch(list(words), {"ORATORIO_DISABLE": "1"}, None, None, [])
            if variables is not None:
                prepared = self._prepared(words, variables, trace_file, place)
            try:
                run = self._recorded(
                    prepared, lambda: apart(prepared, seconds_max, said), trace_file, place, None
                )
            except OSError as error:
                raise RecordError(f"{words[0]} can't be started: {error.strerror}") from None
            return run, said.read_text(errors="replace")

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
        code = work()
        seconds = time.monotonic() - clock
        is_new = trace_file.exists() and trace_file.stat().st_mtime_ns != before
        run = read_run(trace_file if is_new else place / "none", place / EXPLAIN)
        run.exit_code, run.wall_seconds, run.began = code, seconds, began
        run.program = prepared.needs.reason if prepared.needs else ""
        named = {key: value for key, value in self._environ.items() if key.startswith("ORATORIO_")}
        run.environment = {key: value for key, value in named.items() if key not in RECORDING}
        return run
