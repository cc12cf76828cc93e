# SPDX-License-Identifier: BSD-3-Clause
"""Finds the files of costs that `oratorio calibrate` wrote, as the library finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def costs_folder(env: Mapping[str, str]) -> Path:
    """Returns the folder in which the library looks for files of costs, by the same rule as
    src/bind/process.cpp."""
    if given := env.get("ORATORIO_COSTS"):
        return Path(given)
    if cache := env.get("XDG_CACHE_HOME"):
        return Path(cache) / "oratorio"
    return Path(env.get("HOME", "")) / ".cache/oratorio"


def names_of(machine: str, file_system: str) -> tuple[str, str]:
    """Returns the names of the files of costs that the library reads, the more specific one first."""
    return f"{machine}-{file_system}.costs", f"{file_system}.costs"


def in_force(env: Mapping[str, str], names: Sequence[str]) -> tuple[str, str]:
    """Returns (text, path) of the first of these files of costs that is not empty; two empty strings if all
    are empty or missing."""
    for name in names:
        file = costs_folder(env) / name
        try:
            text = file.read_text()
        except OSError:
            continue
        if text:
            return text, str(file)
    return "", ""


def values_of(text: str) -> dict[str, float]:
    """Returns name -> nanoseconds from the text of a file of costs. Keeps only lines of a name and a number
    that is above 0 and at most 1e12."""
    values = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) == 2:
            with suppress(ValueError):
                values[words[0]] = float(words[1])
    return {name: value for name, value in values.items() if 0 < value <= 1e12}
