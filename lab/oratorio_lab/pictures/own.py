# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of methods in which each rank accesses the storage itself (list I/O, data sieving, mmap), or asks
agents (data shipping)."""

from __future__ import annotations

from oratorio_lab.pictures.base import (
    MARGIN,
    RANKS,
    TALL,
    TOP,
    Picture,
    draw_file,
    draw_ranks,
    rank_x,
    with_steps,
)
from oratorio_lab.pictures.method_parts import Parts
from oratorio_lab.pictures.svg import WIDTH, Drawing

OWN_FILE_Y = TOP + 130
OWNERS = "01230123"


def _own_ends(drawing: Drawing, y: float = OWN_FILE_Y) -> list[float]:
    draw_ranks(drawing)
    return draw_file(drawing, y, OWNERS)


def _calls(drawing: Drawing, middles: list[float], dashed=lambda place: False) -> None:
    for place, x in enumerate(middles):
        rank = int(OWNERS[place])
        drawing.arrow((rank_x(rank), TOP + TALL + 3), (x, OWN_FILE_Y - 3), dashed=dashed(place))


def draw_pieces(parts: Parts) -> Picture:
    """Draws a method in which each rank accesses its own pieces."""
    drawing = Drawing(parts.name, parts.summary)
    middles = _own_ends(drawing)
    if parts.in_turns:
        _calls(drawing, middles, lambda place: OWNERS[place] in "23")
        drawing.step(rank_x(0) + 30, TOP + 54, 1)
        drawing.step(rank_x(3) - 30, TOP + 54, 3)
        for rank in (0, 1):
            y = TOP - 5 - 7 * rank
            drawing.rule(rank_x(rank), y, rank_x(rank + 2), "thread")
            drawing.arrow((rank_x(rank + 2), y), (rank_x(rank + 2), TOP - 1))
        drawing.step(rank_x(2) + 16, TOP - 13, 2)
        told = [
            "Two ranks are at the storage (oratorio_group says how many).",
            "Who is done passes GO to the rank that waits for it.",
            "Then that one writes its pieces.",
        ]
    elif parts.read_ahead == "ranges":
        _calls(drawing, middles, lambda place: place >= len(RANKS))
        drawing.step(rank_x(3) - 8, TOP + 60, 1)
        drawing.step(rank_x(0) - 22, TOP + 60, 2)
        drawing.rule(MARGIN + 4 * 50 + 3, OWN_FILE_Y + TALL + 6, WIDTH - MARGIN - 3, "thread")
        drawing.text(MARGIN + 6 * 50, OWN_FILE_Y + TALL + 20, "fetched ahead", 11)
        told = ["Each rank tells the storage which ranges it will want (dashed).",
                "It accesses a piece whose range is there, and tells the next one."]  # fmt: skip
    elif parts.storage == "contiguous":
        _calls(drawing, middles, lambda place: place >= len(RANKS))
        drawing.step(rank_x(0) - 22, TOP + 60, 1)
        drawing.step(rank_x(3) - 8, TOP + 60, 2)
        told = [
            "Each rank writes a piece by one call, and waits for its end.",
            "Then comes its next piece (dashed).",
        ]
    else:
        _calls(drawing, middles)
        drawing.step(rank_x(0) - 22, TOP + 60, 1)
        told = ["Each rank makes a storage call for each of its pieces, many outstanding at once."]
    return with_steps(drawing, OWN_FILE_Y, told)


def draw_mapped(parts: Parts) -> Picture:
    drawing = Drawing(parts.name, parts.summary)
    window_y, file_y = TOP + 100, TOP + 186
    middles = _own_ends(drawing, file_y)
    draw_file(drawing, window_y, OWNERS)
    drawing.frame(MARGIN - 4, window_y - 6, WIDTH - 2 * MARGIN + 8, TALL + 26, "file")
    drawing.text(WIDTH / 2, window_y + TALL + 14, "the file, mapped", 11, kind="faint")
    for place, x in enumerate(middles):
        drawing.arrow((rank_x(int(OWNERS[place])), TOP + TALL + 3), (x, window_y - 2))
    drawing.step(rank_x(0) - 22, TOP + 52, 1)
    for x in (middles[1], middles[6]):
        drawing.arrow((x, window_y + TALL + 22), (x, file_y - 3))
    drawing.step(middles[1] + 18, file_y - 18, 2)
    told = ["Each rank copies its pieces between memory and mapping. Holes aren't touched.",
            "The kernel writes the pages later."]  # fmt: skip
    return with_steps(drawing, file_y, told)


def draw_sieve(parts: Parts) -> Picture:
    drawing = Drawing(parts.name, parts.summary)
    buffer_y, file_y = TOP + 78, TOP + 166
    middles = _own_ends(drawing, file_y)
    for rank in RANKS:
        drawing.box(rank_x(rank) - 40, buffer_y, 80, TALL, "aggregator", "buffer")
        drawing.arrow((rank_x(rank), TOP + TALL + 3), (rank_x(rank), buffer_y - 3))
    left, right = rank_x(0) - 14, rank_x(0) + 18
    drawing.arrow((left, file_y - 12), (left, buffer_y + TALL + 3))
    drawing.arrow((right, buffer_y + TALL + 3), (right, file_y - 12))
    drawing.step(left - 14, file_y - 34, 1)
    drawing.step(rank_x(0) + 14, TOP + TALL + 26, 2)
    drawing.step(right + 14, file_y - 34, 3)
    drawing.rule(MARGIN + 3, file_y - 6, middles[4] + 22, "aggregator")
    drawing.text(middles[2] + 44, file_y - 12, "the whole range of rank 0, locked", 11, "start")
    drawing.text(WIDTH - MARGIN, buffer_y + TALL + 16, "the other ranks do the same", 11, "end", "faint")
    told = ["A rank locks the range that its pieces lie in, and reads it with its holes.",
            "It puts its pieces into their places in the buffer.",
            "It writes the range back, unlocks it, and goes on to the next one."]  # fmt: skip
    return with_steps(drawing, file_y, told)


def draw_shipped(parts: Parts) -> Picture:
    drawing = Drawing(parts.name, parts.summary)
    agent_y, file_y = TOP + 92, TOP + 172
    middles = _own_ends(drawing, file_y)
    for agent, x in enumerate((WIDTH / 4, 3 * WIDTH / 4)):
        drawing.box(x - 80, agent_y, 160, TALL, "agent", f"agent, threads of rank {2 * agent}")
        for rank in RANKS:
            drawing.arrow((rank_x(rank), TOP + TALL + 3), (x + (rank - 1.5) * 30, agent_y - 3))
        for block in (agent, agent + 2):
            end = (middles[2 * block] + middles[2 * block + 1]) / 2
            drawing.arrow((x, agent_y + TALL + 3), (end, file_y - 3))
    for block in range(4):
        left = MARGIN + 100 * block
        drawing.rule(left + 3, file_y + TALL + 6, left + 97, "agent")
        drawing.text(left + 50, file_y + TALL + 20, f"block of {2 * (block % 2)}", 11)
    drawing.step(WIDTH / 2 - 3, TOP + TALL + 14, 1)
    drawing.step(WIDTH / 2, agent_y + TALL + 14, 2)
    what = "a list of pieces" if parts.request == "cursor" else "its datatype and a range of it"
    told = [
        f"A rank sends the agent of a block {what}, and the data.",
        "The agent makes the storage calls, then answers. No other rank's program takes part.",
    ]
    return with_steps(drawing, file_y, told, is_divided=True)
