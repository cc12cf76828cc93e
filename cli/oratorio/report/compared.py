# SPDX-License-Identifier: BSD-3-Clause
"""Reads what `oratorio compare --json` measured, so that a page can show the host's own MPI-IO next to
Oratorio."""

from __future__ import annotations

import json
import shlex
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oratorio.document import SCHEMA
from oratorio.errors import OratorioError


class ComparedError(OratorioError):
    """Raised if a file has no results of `oratorio compare`; the message says why."""


@dataclass(frozen=True)
class Method:
    """The runs of a program with one method, or with the host's own MPI-IO; times are in seconds."""

    name: str
    walls: tuple[float, ...]  # times of the usable runs, from the launcher's start to its end
    interval: tuple[float, float] | None  # confidence interval of the typical time
    bytes: int | None  # bytes that a run moved; None if unknown
    difference: str  # difference from the host: faster, slower, none; empty if unknown
    problem: str  # why no further runs were made; empty if there was no such reason

    @property
    def wall(self) -> float:
        return statistics.median(self.walls)


@dataclass(frozen=True)
class Compared:
    """The results of a comparison."""

    command: str
    methods: tuple[Method, ...]


def _method(row: dict[str, Any]) -> Method:
    return Method(
        row["name"], tuple(row["wall_seconds"]), tuple(row["interval"]) if row["interval"] else None,
        row["bytes"], row["difference"] or "", row["problem"] or "",
    )  # fmt: skip


def read(path: Path) -> Compared:
    """Reads the document that `oratorio compare --json` printed. Raises ComparedError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ComparedError(f"{path}: {error.strerror}; `oratorio compare --json` prints it") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("command") != "compare":
        raise ComparedError(f"{path} is not what `oratorio compare --json` printed")
    if document.get("schema") != SCHEMA:
        raise ComparedError(f"{path} has schema {document.get('schema')}; this command reads schema {SCHEMA}")
    try:
        return Compared(shlex.join(document["job"]), tuple(map(_method, document["methods"])))
    except (KeyError, TypeError) as error:
        raise ComparedError(f"{path} differs from the format in docs/user/stability.md: {error!r}") from error
