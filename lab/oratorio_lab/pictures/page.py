# SPDX-License-Identifier: BSD-3-Clause
"""Draws a picture of each method from the parts that src/plan/methods.cpp names.

A new method made of existing parts gets its picture without a change here.
"""

from __future__ import annotations

from pathlib import Path

from oratorio.paths import ROOT
from oratorio_lab.pictures.aggregated import Aggregated
from oratorio_lab.pictures.base import Picture
from oratorio_lab.pictures.method_parts import Parts, rows
from oratorio_lab.pictures.own import draw_mapped, draw_pieces, draw_shipped, draw_sieve

FOLDER = ROOT / "docs/user/images/methods"
PAGE = ROOT / "docs/user/methods.md"
BEGIN, END = "<!-- begin: oratorio docs --pictures -->\n", "<!-- end -->\n"


def picture(parts: Parts) -> Picture:
    """Returns the picture of a method."""
    if parts.exchange != "none":
        return Aggregated(parts).picture()
    draw = {"mapped": draw_mapped, "buffered": draw_sieve, "shipped": draw_shipped}.get(
        parts.storage, draw_pieces
    )
    return draw(parts)


def file_of(name: str) -> Path:
    """Returns the file of a method's picture."""
    return FOLDER / f"{name}.svg"


def family_of(parts: Parts) -> str:
    """Returns the family of a method; methods of a family are shown together."""
    if parts.layers != "one":
        return "Two layers"
    if parts.exchange == "none":
        return "Agents" if parts.storage == "shipped" else "Each rank by itself"
    by_messages = parts.exchange in ("peer", "gathered")
    return "Aggregators, by messages" if by_messages else "Aggregators, by the node's memory"


FAMILIES = (
    "Each rank by itself",
    "Aggregators, by the node's memory",
    "Aggregators, by messages",
    "Two layers",
    "Agents",
)


def drawn() -> dict[Path, str]:
    """Returns the picture of each method, by the path of its file."""
    made = {parts.name: picture(parts) for parts in rows()}
    return {file_of(name): one.drawing.svg(one.height) for name, one in made.items()}


def section() -> str:
    """Returns the pictures as docs/user/methods.md shows them."""
    text = ""
    for family in FAMILIES:
        members = [parts for parts in rows() if family_of(parts) == family]
        images = "\n".join(
            f"![{parts.name}: {parts.summary}](images/methods/{parts.name}.svg)" for parts in members
        )
        text += f"### {family}\n{images}\n\n"
    return text


def write() -> None:
    """Draws all pictures again and puts them into the page; removes pictures of methods that no longer
    exist."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = drawn()
    for file in set(FOLDER.glob("*.svg")) - set(wanted):
        file.unlink()
    for file, text in wanted.items():
        file.write_text(text)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + section() + END + rest.partition(END)[2])
