# SPDX-License-Identifier: BSD-3-Clause
"""Reads the library's tables, such as methods, hints and costs.

The program in cli/describe writes them to description.json; docs/user/stability.md documents its schema.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from oratorio.errors import OratorioError

SCHEMA = 1
FILE = Path(__file__).with_name("description.json")


@cache
def read(file: Path = FILE) -> dict[str, Any]:
    """Returns the whole description. Raises OratorioError if the file is missing, is not JSON or has another
    schema."""
    import json  # noqa: PLC0415  most commands that start a job need no table

    remedy = "install Oratorio again; in a checkout, run `git checkout cli/oratorio/library/description.json`"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise OratorioError(f"{file} can't be read ({error.strerror}): {remedy}") from None
    except ValueError as error:
        raise OratorioError(f"{file} isn't JSON ({error}): {remedy}") from None
    if document.get("schema") != SCHEMA:
        raise OratorioError(
            f"{file} has schema {document.get('schema')}, but this program reads {SCHEMA}: {remedy}"
        )
    return document


def rows(table: str) -> list[dict[str, Any]]:
    """Returns the rows of one table, such as `methods`."""
    return read()[table]


def names(table: str) -> list[str]:
    """Returns the names of the rows of a table other than `hints`."""
    return [row["name"] for row in rows(table)]
