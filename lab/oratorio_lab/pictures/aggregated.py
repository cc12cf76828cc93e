# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of methods that move data through the collective buffers of aggregators (two-phase)."""

from __future__ import annotations

from oratorio_lab.pictures.base import (
    CELL,
    CELLS,
    MARGIN,
    RANK_STEP,
    RANKS,
    SPARSE,
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


class Aggregated:
    """The picture of a method that moves data through the collective buffers of aggregators."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.count = 4 if parts.all_aggregate else parts.aggregators_max or 2
        self.slots = parts.slots or 4
        self.owners = SPARSE if parts.graph == "sparse" else "0123" * 4
        self.is_layered = parts.layers != "one"
        self.buffer_y = TOP + (206 if self.is_layered else 96)
        self.file_y = self.buffer_y + (124 if parts.io_thread else 92)
        self.width = {1: 170, 2: 170, 4: 86}[self.count]

    def rank_of(self, aggregator: int) -> int:
        return aggregator * (len(RANKS) // self.count)

    def middle(self, aggregator: int) -> float:
        return WIDTH * (2 * aggregator + 1) / (2 * self.count)

    def domains(self) -> list[tuple[int, int, int]]:
        """Returns (aggregator, first cell, cells) of each part of the file."""
        parts = self.count * (2 if self.parts.domains in ("cyclic", "stripes") else 1)
        length = CELLS // parts
        return [(part % self.count, part * length, length) for part in range(parts)]

    def rounds(self) -> list[tuple[int, int, int]]:
        """Returns (first cell, cells, number) of each round; each aggregator numbers its own rounds."""
        domains, found = self.domains(), []
        if len(domains) > self.count:
            for place, (_, first, length) in enumerate(domains):
                turn = place // self.count
                # With `by_place`, rounds follow the blocks' order on the device, which is independent of
                # their order in the file.
                found.append(
                    (first, length, 2 - turn if self.parts.by_place and place % 2 == 0 else turn + 1)
                )
            return found
        each = 1 if self.parts.slot_is_block else 2 if self.slots == 1 and self.count > 1 else 4
        for _, first, length in domains:
            size = length // each
            found += [(first + turn * size, size, turn + 1) for turn in range(each)]
        return found

    def draw_buffers(self, drawing: Drawing) -> None:
        y = self.buffer_y
        if self.parts.exchange == "shared":
            drawing.frame(MARGIN - 4, y - 8, WIDTH - 2 * MARGIN + 8, TALL + 30, "rank")
            drawing.text(WIDTH / 2, y + TALL + 14, "the node's memory", 11, kind="faint")
        for aggregator in range(self.count):
            left = self.middle(aggregator) - self.width / 2
            slot = (self.width + 3) / self.slots
            for number in range(self.slots):
                words = f"{number + 1}" if self.slots > 1 else "buffer"
                drawing.box(left + number * slot, y, slot - 3, TALL, "aggregator", words)
            drawing.text(self.middle(aggregator), y + TALL + 14, f"aggregator {self.rank_of(aggregator)}", 11)

    def draw_file(self, drawing: Drawing) -> None:
        y = self.file_y
        draw_file(drawing, y, self.owners)
        for first, length, number in self.rounds():
            words = f"round {number}" if length > 2 else f"r{number}"
            drawing.text(MARGIN + (first + length / 2) * CELL, y - 5, words, 10, kind="faint")
        narrow = len(self.domains()) > 2
        kind = {"cyclic": "block", "stripes": "stripe"}.get(
            self.parts.domains, "part" if narrow else "domain"
        )
        for aggregator, first, length in self.domains():
            left, right = MARGIN + first * CELL, MARGIN + (first + length) * CELL
            drawing.rule(left + 3, y + TALL + 6, right - 3, "aggregator")
            words = f"{kind} of {self.rank_of(aggregator)}"
            drawing.text((left + right) / 2, y + TALL + 20, words, 11)

    def draw_storage(self, drawing: Drawing) -> None:
        start = self.buffer_y + TALL + 20
        for aggregator in range(self.count):
            x = self.middle(aggregator)
            if self.parts.io_thread:
                drawing.arrow((x, start), (x, start + 18))
                drawing.box(x - 34, start + 18, 68, 22, "thread", "thread")
            for owner, first, length in self.domains():
                if owner == aggregator:
                    from_y = start + (40 if self.parts.io_thread else 0)
                    drawing.arrow((x, from_y), (MARGIN + (first + length / 2) * CELL, self.file_y - 16))

    def draw_exchange(self, drawing: Drawing) -> None:
        parts, y = self.parts, TOP + TALL
        for rank in RANKS:
            for aggregator in range(self.count):
                if parts.graph == "sparse" and rank // 2 != aggregator:
                    continue
                above = (rank_x(rank), y + 3)
                below = (self.middle(aggregator) + (rank - 1.5) * self.width / 6, self.buffer_y - 3)
                start, end = (below, above) if parts.exchange == "cross_memory" else (above, below)
                drawing.arrow(start, end, wide=parts.exchange == "gathered")

    def draw_layers(self, drawing: Drawing) -> None:
        local_y = TOP + 86
        shared = self.parts.layers == "two_shared"
        for node in range(2):
            left = MARGIN + node * 2 * RANK_STEP
            x = left + RANK_STEP - 8
            drawing.frame(left - 5, TOP - 6, 2 * RANK_STEP - 6, local_y + TALL + 28 - TOP, "file")
            drawing.text(left + 2, local_y + TALL + 17, f"node {node}", 11, "start", "faint")
            if shared:
                drawing.frame(x - 82, local_y - 22, 164, TALL + 26, "local")
                drawing.text(x, local_y - 8, "windows that the node shares", 10, kind="faint")
            drawing.box(x - 76, local_y, 152, TALL, "local", f"local aggregator {2 * node}")
            for rank in (2 * node, 2 * node + 1):
                drawing.arrow((rank_x(rank), TOP + TALL + 3), (rank_x(rank), local_y - (25 if shared else 3)))
            for aggregator in range(self.count):
                end = self.middle(aggregator) + (node - 0.5) * 40
                drawing.arrow((x, local_y + TALL + 6), (end, self.buffer_y - 3))

    def discs(self, drawing: Drawing) -> None:
        """Draws the numbers of the steps next to their arrows."""
        if self.is_layered:
            drawing.step(WIDTH / 2 - 3, TOP + 56, 1)
            drawing.step(WIDTH / 2, self.buffer_y - 42, 2)
            drawing.step(WIDTH / 2, self.buffer_y + TALL + 32, 3)
        else:
            first = 2 if self.parts.graph == "sparse" else 1
            drawing.step(WIDTH / 2 - 3, TOP + TALL + 14, first)
            x = WIDTH / 2 + (24 if self.count == 1 else 0)
            drawing.step(x, self.buffer_y + TALL + 34, first + 1)

    def told(self) -> list[str]:
        parts = self.parts
        exchange = {
            "peer": "Each rank sends messages: where its pieces lie, and the data, packed.",
            "shared": "Each rank copies its own pieces into the buffers, which all map.",
            "cross_memory": "Each rank says once where its data lies. Aggregators fetch it from its memory.",
            "gathered": "A message says which pieces come. The data goes from memory to buffer, not packed.",
        }[parts.exchange]
        if parts.request == "list":
            exchange += " Lists of all pieces are made first."
        told = [exchange]
        if parts.graph == "sparse":
            told = [
                "All tell in which rounds they have data, by 64 bytes each.",
                "Only who has data sends messages.",
            ]
        if self.is_layered:
            first = "Each rank sends its pieces to the local aggregator of its node."
            if parts.layers == "two_shared":
                first = "Each rank copies its pieces into windows, memory that its node shares."
            told = [first, "Local aggregators merge, join what touches, and alone send to the aggregators."]
        who = "A thread beside" if parts.io_thread else "The aggregator"
        store = f"{who} writes the round to the file."
        if parts.by_place:
            store = f"{who} writes block by block in the order of the disk."
        if parts.slot_is_block and not parts.by_place:
            store = f"{who} writes its part in one call: there is one round."
        told.append(store)
        if self.slots > 1:
            told.append("Meanwhile the next round fills another sub-buffer.")
        elif not parts.slot_is_block:
            told.append("Then the next round, in the same buffer.")
        return told

    def picture(self) -> Picture:
        drawing = Drawing(self.parts.name, self.parts.summary)
        (self.draw_layers if self.is_layered else self.draw_exchange)(drawing)
        draw_ranks(drawing)
        self.draw_storage(drawing)
        self.draw_buffers(drawing)
        self.draw_file(drawing)
        self.discs(drawing)
        return with_steps(drawing, self.file_y, self.told(), is_divided=True)
