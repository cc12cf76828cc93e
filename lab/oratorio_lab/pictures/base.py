# SPDX-License-Identifier: BSD-3-Clause
"""The common parts of all pictures of methods: four ranks above, a file below, numbered sentences.

Each picture shows a write by four ranks with pieces that alternate in the file; reads go the other way.
"""

from __future__ import annotations

from typing import NamedTuple

from oratorio_lab.pictures.svg import WIDTH, Drawing

MARGIN, TOP, TALL = 10, 58, 26
RANKS = range(4)
RANK_WIDTH, RANK_STEP = 88, 104
CELLS = 16
CELL = (WIDTH - 2 * MARGIN) / CELLS
SPARSE = "0..11..02..33..2"  # the owner of each cell, if the ranks do not simply alternate


def rank_x(rank: int) -> float:
    """Returns the middle of a rank's box."""
    return MARGIN + rank * RANK_STEP + RANK_WIDTH / 2


def draw_ranks(drawing: Drawing) -> None:
    drawing.heading()
    for rank in RANKS:
        drawing.box(rank_x(rank) - RANK_WIDTH / 2, TOP, RANK_WIDTH, TALL, "rank", f"rank {rank}")


def draw_file(drawing: Drawing, y: float, owners: str) -> list[float]:
    """Draws the cells of the file; returns the middle of each."""
    width = (WIDTH - 2 * MARGIN) / len(owners)
    for place, owner in enumerate(owners):
        drawing.cell(MARGIN + place * width, y, width, TALL, owner.replace(".", ""))
    return [MARGIN + (place + 0.5) * width for place in range(len(owners))]


class Picture(NamedTuple):
    """A drawing, and the height that it needs."""

    drawing: Drawing
    height: float


def with_steps(drawing: Drawing, file_y: float, told: list[str], is_divided: bool = False) -> Picture:
    """Returns the picture with the sentences below the file; if the file is divided, leaves room for the
    names of its parts."""
    y = file_y + TALL + (34 if is_divided else 16)
    drawing.text(MARGIN, y, "file", 11, "start", "faint")
    return Picture(drawing, drawing.steps(y + 24, told))
