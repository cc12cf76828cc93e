# SPDX-License-Identifier: BSD-3-Clause
"""The files of costs that `oratorio calibrate` has written, found as the library finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def costs_folder(env: Mapping[str, str]) -> Path:
    """Where the library looks: the same rule as in src/bind/process.cpp."""
    if given := env.get("ORATORIO_COSTS"):
        return Path(given)
    if cache := env.get("XDG_CACHE_HOME"):
        return Path(cache) / "oratorio"
    return Path(env.get("HOME", "")) / ".cache/oratorio"


def names_of(machine: str, file_system: str) -> tuple[str, str]:
    """Files the library looks into, the stronger first."""
    return f"{machine}-{file_system}.costs", f"{file_system}.costs"


def in_force(folder: Path, names: Sequence[str]) -> tuple[str, str]:
    """(text, where it is from) of the first of these files that says something."""
    for name in names:
        file = folder / name
        try:
            text = file.read_text()
        except OSError:
            continue
        if text:
            return text, str(file)
    return "", ""


def values_of(text: str) -> dict[str, float]:
    """Nanoseconds by name; lines that the library wouldn't read are left out."""
    values = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) == 2:
            with suppress(ValueError):
                values[words[0]] = float(words[1])
    return {name: value for name, value in values.items() if 0 < value <= 1e12}
