# SPDX-License-Identifier: BSD-3-Clause
"""Data types for `oratorio neighbours`: a neighbour (a program or library that runs in one job with
Oratorio), and the outcome of trying it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

OK, SKIPPED, WRONG = "ok", "skipped", "wrong"
RANKS = 3
LIMIT_SECONDS = 120

Row = TypeVar("Row")  # Neighbour or Application


class MissingError(Exception):
    """Raised if a neighbour cannot run here; the message says why, or how to get it."""


class WrongError(Exception):
    """Raised if a neighbour ran, but something is wrong; the message says what."""


class NoEndError(WrongError):
    """Raised if a neighbour did not end within its time limit."""


@dataclass(frozen=True)
class Neighbour:
    """One row of the table: a program or library under one MPI. `run(folder)` returns the outcome in a few
    words; it raises MissingError and WrongError."""

    name: str
    # the source of the program or library, or of its MPI: a release of Debian, PyPI or crates.io
    had: str
    mpi: str
    version: Callable[[], str]
    tried: str  # what ran, in a few words
    run: Callable[[Path], str]
    is_quick: bool = False  # whether the tests that run with every change include it


def matching(rows: Sequence[Row], match: str | None) -> list[Row]:
    """Returns the rows with `match` in their name or MPI; all rows if `match` is None or empty."""
    return [row for row in rows if not match or match.lower() in f"{row.name} {row.mpi}".lower()]


@dataclass(frozen=True)
class Absent:
    """A neighbour that is not available on this machine."""

    name: str
    why: str
    instead: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of running a neighbour."""

    neighbour: Neighbour
    state: str  # OK, SKIPPED or WRONG
    version: str
    says: str
