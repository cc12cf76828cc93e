#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the table of other implementations' variables in docs/user/environment.md from the library's description
of itself. With --check, fails if the table is not current."""

import pathlib
import re
import sys

from generated import keep

from oratorio import markdown
from oratorio.library import description

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/user/environment.md"
BEGIN = "<!-- begin: dev/generate/environment_doc.py -->\n"
END = "<!-- end -->\n"


def marked(text):
    """Returns a text with the names of variables and hints as code."""
    return re.sub(r"/?\b\w+[_/]\w[\w-]*(=\w+)?", lambda name: f"`{name.group()}`", text)


def cells(row):
    """Returns the cells of a variable: its name, the implementation it is from, Oratorio's counterpart and the
    effect."""
    effect = marked(row["effect"])
    return [
        f"`{row['name']}`",
        row["from"],
        marked(row["ours"]),
        effect if row["used"] else f"none: {effect}",
    ]


def table():
    rows = [cells(row) for row in description.rows("site_variables")]
    return markdown.table(["variable", "from", "ours", "effect"], rows)


if __name__ == "__main__":
    sys.exit(keep(PAGE, markdown.with_generated_part(PAGE.read_text(), BEGIN, END, table())))
