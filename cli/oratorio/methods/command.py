# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `oratorio methods`."""

from __future__ import annotations

import argparse

from oratorio.command_line import Parser
from oratorio.document import add_json, print_document
from oratorio.library import description
from oratorio.text_table import aligned

AUTO = "the fastest for each access: by the cost model, then by measured times; the default"
NOTE = (
    "auto chooses among those marked. Select one by --method NAME of oratorio run, ORATORIO_METHOD=NAME or "
    "the\nhint oratorio_method; docs/user/methods.md says when each is fast."
)


def add_options(parser: Parser) -> None:
    """Adds the options of `methods`."""
    add_json(parser)
    parser.set_defaults(does=run)


def run(options: argparse.Namespace) -> int:
    """Prints the methods. Returns 0."""
    methods = description.rows("methods")
    if options.json:
        keys = ("name", "description", "automatic")
        print_document("methods", methods=[{key: row[key] for key in keys} for row in methods])
        return 0
    rows = [["method", "auto", "what it does"], ["auto", "", AUTO]]
    rows += [[row["name"], "*" if row["automatic"] else "", row["description"]] for row in methods]
    print("\n".join([*aligned(rows, left=(0, 1, 2)), NOTE]))
    return 0
