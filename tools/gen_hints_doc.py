#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes docs/hints.md from src/file/hints.def. With --check, fails if the page is not current."""

import pathlib
import re
import sys

from generated import keep

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/file/hints.def"
PAGE = ROOT / "docs/hints.md"

INTRO = """# Hints

This page is made by `tools/gen_hints_doc.py` from `src/file/hints.def`; edit that table instead.

A hint is a key and a value in the info of `MPI_File_open`, `MPI_File_set_view` or `MPI_File_set_info`. Hints also come from the
environment; where a key is given more than once the later of these counts: the file named by `ROMIO_HINTS` (lines `key value`),
`MPICH_MPIIO_HINTS` (`pattern:key=value:key=value,pattern2:...`, patterns are globs on the file name), `ORATORIO_HINTS`
(`key=value;key=value`), the program's info. The values of rank 0 hold on all ranks. Numbers are decimal or, with `0x`,
hexadecimal, without a unit. A value that is not understood or out of range is warned about once, and the warning tells the value
used instead. Unknown keys are ignored. `oratorio explain` lists what was given, where each value came from and what is
allowed.
"""


def split_row(text):
    """Splits the arguments of a row; commas inside quotes and parentheses do not separate."""
    parts, depth, quoted, part = [], 0, False, ""
    for i, c in enumerate(text):
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        if not quoted and c in "()":
            depth += 1 if c == "(" else -1
        if c == "," and depth == 0 and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [*parts, part.strip()]


def unquote(text):
    """Joins adjacent string literals."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


def rows():
    text = "\n".join(line for line in TABLE.read_text().splitlines() if not line.startswith("//"))
    pattern = r"^(HINT|SYNONYM|MEANS|REPORTED|ACCEPTED)\((.*?)\)$"
    return [(name, split_row(body)) for name, body in re.findall(pattern, text, re.M | re.S)]


def values(kind):
    """Returns the valid values of a kind, in words."""
    name, arguments = re.fullmatch(r"(\w+)\((.*)\)", kind).groups()
    if name in ("bytes", "integer", "octal"):
        low, high = (argument.strip() for argument in arguments.split(","))
        high = {"INT_MAX": "2147483647", "TiB": "1 TiB"}.get(high, high)
        return f"{'octal ' if name == 'octal' else ''}{low} to {high}{' bytes' if name == 'bytes' else ''}"
    if name == "memory":
        return f"{arguments} bytes to what the machine can give"
    if name == "one_of":
        return ", ".join(f"`{word}`" for word in unquote(arguments).split())
    return {
        "toggle": "`enable`, `disable`, `automatic`",
        "boolean": "`true`, `false`",
        "method": "`auto` or a method's name",
        "config_list": "`host:n,...`, `*` is any host",
    }[name]


def table(heading, columns, lines):
    head = "| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns) + "\n"
    return f"\n## {heading}\n\n{head}" + "".join("| " + " | ".join(line) + " |\n" for line in lines)


def page():
    kinds = {kind: [] for kind in ("HINT", "SYNONYM", "MEANS", "REPORTED", "ACCEPTED")}
    for name, arguments in rows():
        kinds[name].append(arguments)

    def hints(role):
        return [
            [f"`{key}`", values(kind), f"`{unquote(initial)}`" if unquote(initial) else "", unquote(doc)]
            for key, kind, _, initial, row_role, doc in kinds["HINT"]
            if row_role == role
        ]

    means = [[f"`{key}`", "any", f"`{target}`", unquote(doc)] for key, target, doc in kinds["SYNONYM"]]
    means += [
        [f"`{key}`", f"`{unquote(value)}`", f"`{target}` = `{unquote(result)}`", unquote(doc)]
        for key, value, target, result, doc in kinds["MEANS"]
    ]
    columns = ["hint", "values", "default", "meaning"]
    return (
        INTRO
        + table("Hints that act", columns, hints("acts"))
        + table("Hints that are checked and reported, but used by nothing yet", columns, hints("kept"))
        + table("Other names", ["hint", "value", "stands for", "where from"], means)
        + table(
            "Reported only",
            ["hint", "meaning"],
            [[f"`{key}`", unquote(doc)] for key, doc in kinds["REPORTED"]],
        )
        + table(
            "Accepted without effect",
            ["hint", "where from"],
            [[f"`{key}`", unquote(doc)] for key, doc in kinds["ACCEPTED"]],
        )
    )


if __name__ == "__main__":
    sys.exit(keep(PAGE, page()))
