# SPDX-License-Identifier: BSD-3-Clause
"""What a neighbour is, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

OK, SKIPPED, WRONG = "ok", "skipped", "wrong"
RANKS = 3
LIMIT_SECONDS = 120


class MissingError(Exception):
    """It can't be run here; the text says why, or how it is had."""


class WrongError(Exception):
    """It ran, and something isn't as it should be."""


class NoEndError(WrongError):
    """It had to be ended."""


@dataclass(frozen=True)
class Neighbour:
    """One row. `run(folder)` gives what came of it, in a few words; it raises MissingError and WrongError."""

    name: str
    had: str  # where it is from
    mpi: str
    version: Callable[[], str]
    tried: str  # the program, in a few words
    run: Callable[[Path], str]
    is_quick: bool = False  # in the tests that run with every change


@dataclass(frozen=True)
class Absent:
    """One that can't be had from the registries."""

    name: str
    why: str
    instead: str


@dataclass(frozen=True)
class Outcome:
    """What came of a row."""

    neighbour: Neighbour
    state: str  # OK, SKIPPED or WRONG
    version: str
    says: str
