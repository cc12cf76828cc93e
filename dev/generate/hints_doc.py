#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes docs/user/hints.md from the library's description of its hints. With --check, fails if the page is not current."""

import pathlib
import sys

from generated import keep

from oratorio import markdown
from oratorio.library import description
from oratorio.quantity import counted

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/user/hints.md"

INTRO = """# Hints

This page is made by `dev/generate/hints_doc.py` from `src/hints/hints.def`; edit that table instead.

A hint is a key and a value in the info of `MPI_File_open`, `MPI_File_set_view` or `MPI_File_set_info`. Hints also come from the
environment; if several of them set a key, the later one in this list counts: the file named by `ROMIO_HINTS` (lines `key value`),
other [variables of other implementations](environment.md#settings-of-other-implementations), `MPICH_MPIIO_HINTS`
(`pattern:key=value:key=value,pattern2:...`, the first glob that matches the file name counts), `ORATORIO_METHOD` and
`ORATORIO_LEARN` (the hints `oratorio_method` and `oratorio_learn`), `ORATORIO_HINTS` (`key=value;key=value`), the program's info.
The values of rank 0 apply on all ranks. Numbers are decimal or, with `0x`, hexadecimal, without a unit. A value that can't be parsed
or is out of range causes one warning, which names the value used instead. Unknown keys are ignored. `oratorio explain` lists the
hints of the program, the origin of each value, and the allowed values.
"""


def values(hint):
    """Returns the text that says which values of a hint are valid."""
    kind = hint["kind"]
    if kind in ("bytes", "integer"):
        if hint["high"] == 1 << 40:
            return f"{counted(hint['low'], 'byte')} to 1 TiB"
        return f"{hint['low']} to {hint['high']}{' bytes' if kind == 'bytes' else ''}"
    if kind == "octal":
        return f"octal {hint['low']:o} to 0{hint['high']:o}"
    if kind == "memory":
        return f"{counted(hint['low'], 'byte')} to the machine's limit"
    if "words" in hint:
        return ", ".join(f"`{word}`" for word in hint["words"])
    return {
        "method": "`auto` or a method's name",
        "config_list": "`host:n,...`; `*` matches any host",
        "rank_list": "ranks, separated by commas",
    }[kind]


def table(heading, columns, lines):
    """Returns a section with a table; nothing if the table has no lines."""
    return f"\n## {heading}\n\n{markdown.table(columns, lines)}" if lines else ""


def code(text):
    return f"`{text}`"


def page():
    def of_role(role):
        return [hint for hint in description.rows("hints") if hint["role"] == role]

    def hints(role):
        return [
            [
                code(hint["key"]),
                values(hint),
                code(hint["default"]) if hint["default"] else "",
                hint["description"],
            ]
            for hint in of_role(role)
        ]

    def keys(role):
        return [[code(hint["key"]), hint["description"]] for hint in of_role(role)]

    means = [
        [code(hint["key"]), "any", code(hint["target"]), hint["description"]] for hint in of_role("synonym")
    ]
    for hint in of_role("means"):
        stands_for = f"{code(hint['target'])} = {code(hint['target_value'])}"
        means.append([code(hint["key"]), code(hint["value"]), stands_for, hint["description"]])
    columns = ["hint", "values", "default", "meaning"]
    return (
        INTRO
        + table("Hints with an effect", columns, hints("acts"))
        + table("Hints that are checked and reported, but not used yet", columns, hints("kept"))
        + table("Other names", ["hint", "value", "means", "origin"], means)
        + table("Reported only", ["hint", "meaning"], keys("reported"))
        + table("Accepted without effect", ["hint", "origin"], keys("accepted"))
    )


if __name__ == "__main__":
    sys.exit(keep(PAGE, page()))
