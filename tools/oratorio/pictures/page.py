# SPDX-License-Identifier: BSD-3-Clause
"""Draws a picture of each method from the parts that src/plan/methods.cpp names.

A method made of parts that there are gets its picture by itself.
"""

from __future__ import annotations

from pathlib import Path

from oratorio.method_parts import Parts, rows
from oratorio.paths import ROOT
from oratorio.pictures.aggregated import Aggregated
from oratorio.pictures.base import Picture
from oratorio.pictures.own import draw_mapped, draw_pieces, draw_shipped, draw_sieve

FOLDER = ROOT / "docs/images/methods"
PAGE = ROOT / "docs/methods.md"
BEGIN, END = "<!-- begin: oratorio docs --pictures -->\n", "<!-- end -->\n"


def picture(parts: Parts) -> Picture:
    """Of a method."""
    if parts.exchange != "none":
        return Aggregated(parts).picture()
    draw = {"mapped": draw_mapped, "buffered": draw_sieve, "shipped": draw_shipped}.get(
        parts.storage, draw_pieces
    )
    return draw(parts)


def file_of(name: str) -> Path:
    """Where it is kept."""
    return FOLDER / f"{name}.svg"


def family_of(parts: Parts) -> str:
    """Methods of a family stand together on the page."""
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
    """The file of each method, and what has to be in it."""
    made = {parts.name: picture(parts) for parts in rows()}
    return {file_of(name): one.drawing.svg(one.height) for name, one in made.items()}


def section() -> str:
    """The pictures as docs/methods.md shows them."""
    text = ""
    for family in FAMILIES:
        members = [parts for parts in rows() if family_of(parts) == family]
        images = "\n".join(
            f"![{parts.name}: {parts.summary}](images/methods/{parts.name}.svg)" for parts in members
        )
        text += f"### {family}\n{images}\n\n"
    return text


def write() -> None:
    """Draws all of them anew and puts them into the page; those of methods that are gone go."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = drawn()
    for file in set(FOLDER.glob("*.svg")) - set(wanted):
        file.unlink()
    for file, text in wanted.items():
        file.write_text(text)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + section() + END + rest.partition(END)[2])
