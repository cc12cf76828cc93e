# SPDX-License-Identifier: BSD-3-Clause
"""Finds the files of costs that `oratorio calibrate` wrote, as the library finds them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from oratorio import small_file
from oratorio.library import description
from oratorio.library.hint_text import BLANKS

COST_MAX = 1e12  # nanoseconds
# The number is what std::from_chars reads, and at most one '=' may stand in front of it.
LINE = re.compile(
    r"(?P<name>[^ \t=]*)[ \t=][ \t\r]*(?P<number>-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"
)


def costs_folder(env: Mapping[str, str]) -> Path | None:
    """Returns the folder in which the library looks for files of costs, by the same rule as
    src/bind/process.cpp; None if the environment names none."""
    if given := env.get("ORATORIO_COSTS"):
        return Path(given).absolute()
    if cache := env.get("XDG_CACHE_HOME"):
        return Path(cache).absolute() / "oratorio"
    home = env.get("HOME")
    return Path(home).absolute() / ".cache/oratorio" if home else None


def names_of(machine: str, file_system: str) -> tuple[str, str]:
    """Returns the names of the files of costs that the library reads, the more specific one first."""
    return f"{machine}-{file_system}.costs", f"{file_system}.costs"


def in_force(env: Mapping[str, str], names: Sequence[str]) -> tuple[str, str]:
    """Returns (text, path) of the first of these files of costs that can be read and is not empty; two empty
    strings if there is none, or if the environment names no folder."""
    folder = costs_folder(env)
    for name in names if folder else ():
        file = folder / name
        try:
            text = small_file.read(file)
        except OSError:
            continue
        if text:
            return text, str(file)
    return "", ""


def values_of(text: str) -> dict[str, float]:
    """Returns name -> nanoseconds from the text of a file of costs, as parse_costs() reads it
    (src/plan/costs.cpp). Leaves out lines that the library ignores."""
    may_be_zero = {row["name"]: row["memory"] == 0 for row in description.rows("costs")}
    values = {}
    for line in text.split("\n"):
        words = LINE.fullmatch(line.partition("#")[0].strip(BLANKS))
        if words is None or words["name"] not in may_be_zero:
            continue
        value = float(words["number"])
        if 0 < value <= COST_MAX or (value == 0 and may_be_zero[words["name"]]):
            values[words["name"]] = value
    return values
