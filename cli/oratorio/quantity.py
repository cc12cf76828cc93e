# SPDX-License-Identifier: BSD-3-Clause
"""Writes numbers of things, bytes and remaining times for people."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Returns a number with the name of what it counts, in the plural unless the number is 1."""
    if number == 1:
        return f"{number} {what}"
    return f"{number} {what}es" if what.endswith("s") else f"{number} {what}s"


def amount(count: float) -> str:
    """Returns a number of bytes in the largest unit that it reaches."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    text = f"{count:.0f}" if unit == "bytes" or count >= 100 else f"{count:.1f}"
    return f"{text} {unit}"


def left_text(share: float, seconds: float) -> str:
    """Returns an estimate of the remaining time, to append to a line, if `share` of the work took `seconds`.
    Empty if nothing is done yet, or if less than a second is left."""
    rest = seconds / share - seconds if share > 0 else 0
    if rest < 1:
        return ""
    return f", about {rest / 60:.0f} min left" if rest >= 90 else f", about {rest:.0f} s left"
