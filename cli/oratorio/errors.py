# SPDX-License-Identifier: BSD-3-Clause
"""The base class of all errors that a command reports to its user, and all exit codes."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

FAILED = 1  # exit code of a command that did its work and found a failure
REFUSED = 2  # exit code of a command that could not do its work
TIMED_OUT = 124  # exit code for a program that was ended at its time limit, as of timeout(1)
NOT_EXECUTABLE, NOT_FOUND = 126, 127  # the exit codes of a shell for a command that can't be started
KILLED_BY = 128  # a shell reports this plus the signal's number for a program that a signal ended
INTERRUPTED = KILLED_BY + signal.SIGINT
CLOSED_PIPE = KILLED_BY + signal.SIGPIPE

# Exit code -> what it means for `run` and `explain`, for `compare`, and for all other commands. The table of
# docs/user/stability.md and the manual page have the same rows.
EXIT_CODES = {
    "0": ("the program's own", "no run failed", "success"),
    str(FAILED): (
        "the program's own",
        "the program's own, or output files differ",
        "a failure was found: `doctor` has a `bad` line, a rule is broken, a test failed",
    ),
    str(REFUSED): (
        "the program's own, or nothing was started: the reason is on standard error",
        "the program's own, or wrong arguments or an error",
        "wrong arguments or an error; the reason is on standard error",
    ),
    str(TIMED_OUT): ("the program's own", "a run was ended at `--timeout`", ""),
    str(NOT_EXECUTABLE): ("the command exists, but can't be started", "the same", ""),
    str(NOT_FOUND): ("the command doesn't exist", "the same", ""),
    str(INTERRUPTED): ("the program's own, or Ctrl-C before it began", "Ctrl-C", "Ctrl-C"),
    str(CLOSED_PIPE): (
        "the program's own",
        "standard output is a pipe that was closed, as by `head -1`",
        "standard output is a pipe that was closed, as by `head -1`",
    ),
    f"{KILLED_BY} + N": (
        "the program was ended by signal N",
        "the program or the command was ended by signal N",
        "signal N (15: `kill`, 1: the terminal was closed)",
    ),
    "other": ("the program's own", "that of the first run that failed", ""),
}


class OratorioError(Exception):
    """Raised if a command cannot do its work; the message is a sentence for the user that says why.
    The argument `exit_code` replaces the exit code of the class."""

    exit_code = REFUSED

    def __init__(self, text: object = "", exit_code: int | None = None) -> None:
        super().__init__(text)
        if exit_code is not None:
            self.exit_code = exit_code


def leave(number: int, frame: object) -> None:
    """Handles a signal by ending this process with an exception, so that what it has started ends, too."""
    del frame
    raise SystemExit(KILLED_BY + number)


def tell(sentence: str) -> None:
    """Prints a message on standard error; does nothing if that is closed or a pipe without a reader."""
    with suppress(OSError):
        print(f"oratorio: {sentence}", file=sys.stderr)
