# SPDX-License-Identifier: BSD-3-Clause
"""The JSON documents that commands print with `--json`; docs/user/stability.md has their members."""

from __future__ import annotations

import json
from typing import Any

from oratorio import __version__
from oratorio.command_line import Parser

SCHEMA = 1  # raised when a member is removed or changes its meaning


def add_json(parser: Parser) -> None:
    """Adds the option `--json`."""
    parser.add_argument("--json", action="store_true", help="Print one JSON document on standard output.")


def print_document(command: str, **members: Any) -> None:
    """Prints the JSON document of a command, with these members."""
    print(json.dumps({"schema": SCHEMA, "version": __version__, "command": command, **members}, indent=2))
