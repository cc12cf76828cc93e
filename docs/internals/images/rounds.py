"""Draws rounds.png: aggregator, file domain, round and sub-buffer. Usage: python
docs/internals/images/rounds.py"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, Rectangle

RANKS = ("#4878a8", "#d9822b", "#6a9f58", "#a05195")
PIECES, ROUNDS, DOMAINS = 48, 3, 2
FILE_Y, BUFFER_Y, RANK_Y = 0.4, 2.35, 4.1


def box(axes, x, y, width, height, **style) -> None:
    axes.add_patch(Rectangle((x, y), width, height, **{"edgecolor": "black", "linewidth": 0.8, **style}))


def arrow(axes, start, end) -> None:
    axes.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color="#444444", linewidth=1)
    )


def main() -> None:
    """Draws the picture."""
    figure, axes = plt.subplots(figsize=(8.3, 4.4), dpi=200)
    width = 12.0 / PIECES
    for piece in range(PIECES):
        box(axes, piece * width, FILE_Y, width, 0.45, facecolor=RANKS[piece % 4], linewidth=0.3)
    for domain in range(DOMAINS):
        left = domain * 6.0
        box(axes, left, FILE_Y, 6, 0.45, facecolor="none", linewidth=2)
        axes.text(left + 3, -0.22, f"file domain of aggregator {domain}", ha="center", fontsize=10)
        for number in range(ROUNDS):
            x = left + 2 * number
            axes.plot([x, x], [FILE_Y, FILE_Y + 0.75], color="black", linewidth=1)
            axes.text(x + 1, FILE_Y + 0.58, f"round {number}", ha="center", fontsize=9)
        for slot in range(2):
            x = left + 0.4 + slot * 2.6
            for piece in range(8):
                box(axes, x + piece * width, BUFFER_Y, width, 0.5, facecolor=RANKS[piece % 4], linewidth=0.3)
            box(axes, x, BUFFER_Y, 2, 0.5, facecolor="none", linewidth=1.5)
            axes.text(x + 1, BUFFER_Y + 0.62, f"sub-buffer {slot}", ha="center", fontsize=9)
            arrow(axes, (x + 1, BUFFER_Y - 0.05), (left + 1 + 2 * slot, FILE_Y + 0.85))
    for rank, color in enumerate(RANKS):
        x = 0.6 + rank * 3
        box(axes, x, RANK_Y, 1.8, 0.5, facecolor=color)
        name = f"rank {rank}" + (f", aggregator {rank // 2}" if rank % 2 == 0 else "")
        axes.text(x + 0.9, RANK_Y + 0.62, name, ha="center", fontsize=9)
        for target in (1.4, 7.4):
            arrow(axes, (x + 0.9, RANK_Y - 0.05), (target + (x - 0.6) / 9, BUFFER_Y + 0.92))
    axes.text(12.15, RANK_Y + 0.2, "memory", fontsize=10)
    axes.text(12.15, 3.55, "exchange", fontsize=10, style="italic")
    axes.text(12.15, BUFFER_Y + 0.2, "collective\nbuffers", fontsize=10, va="center")
    axes.text(12.15, 1.65, "storage", fontsize=10, style="italic")
    axes.text(12.15, FILE_Y + 0.2, "file", fontsize=10)
    axes.set_xlim(-0.1, 13.8)
    axes.set_ylim(-0.4, 5.0)
    axes.axis("off")
    figure.savefig(Path(__file__).with_suffix(".png"), bbox_inches="tight")


if __name__ == "__main__":
    main()
