# SPDX-License-Identifier: BSD-3-Clause
"""Small drawings as SVG: boxes, arrows, text; light or dark as the reader's system asks."""

from __future__ import annotations

import textwrap
from html import escape

WIDTH = 420
LINE_CHARACTERS = 55  # characters that fit on a line of the whole width, in the usual size
# One colour for each role, the same in light and dark; only paper and ink differ.
ROLES = {
    "rank": "#3b6ea8",
    "aggregator": "#b8560f",
    "local": "#7a4fa3",
    "agent": "#2e7d4f",
    "thread": "#96305f",
    "file": "#6b7280",
}
STYLE = """
.paper{fill:#ffffff;stroke:#d0d7de}.ink{fill:#1f2328}.faint{fill:#57606a}.line{stroke:#57606a}.head{fill:#57606a}
.cell{fill:#eef1f4;stroke:#8b949e}.on{fill:#ffffff}.number{fill:#ffffff}text{font-family:sans-serif}
@media (prefers-color-scheme:dark){.paper{fill:#161b22;stroke:#3d444d}.ink{fill:#e6edf3}.faint{fill:#a5b0bb}
.line{stroke:#a5b0bb}.head{fill:#a5b0bb}.cell{fill:#2a313a;stroke:#8b949e}.number{fill:#161b22}}
"""


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Drawing:
    """A drawing; parts that are drawn later cover earlier ones."""

    def __init__(self, title: str, summary: str) -> None:
        self._title, self._summary = title, summary
        self._parts: list[str] = []
        self.texts: list[tuple[float, float, float, float]] = []  # approximate boxes of all texts

    def _add(self, tag: str, content: str = "", **attributes) -> None:
        values = {
            key: _number(one) if isinstance(one, float | int) else one for key, one in attributes.items()
        }
        words = [f'{key.strip("_").replace("_", "-")}="{value}"' for key, value in values.items()]
        self._parts.append(f"<{tag} {' '.join(words)}" + (f">{content}</{tag}>" if content else "/>"))

    def heading(self) -> None:
        """Draws the title, at the top."""
        self._add("text", escape(self._title), x=10, y=24, font_size=14, class_="ink", font_weight="bold")

    def text(
        self, x: float, y: float, words: str, size: float = 12, anchor: str = "middle", kind: str = "ink"
    ) -> None:
        """Draws a text; `y` is its baseline."""
        self._add("text", escape(words), x=x, y=y, font_size=size, text_anchor=anchor, class_=kind)
        width = 0.56 * size * len(words)
        left = {"middle": x - width / 2, "start": x, "end": x - width}[anchor]
        self.texts.append((left, y - 0.8 * size, left + width, y + 0.2 * size))

    def box(self, x: float, y: float, width: float, height: float, role: str, words: str = "") -> None:
        """Draws a filled box in the colour of the role."""
        self._add("rect", x=x, y=y, width=width, height=height, rx=4, fill=ROLES[role])
        if words:
            self.text(x + width / 2, y + height / 2 + 4, words, kind="on")

    def frame(self, x: float, y: float, width: float, height: float, role: str) -> None:
        """Draws a dashed frame around things that belong together."""
        self._add(
            "rect", x=x, y=y, width=width, height=height, rx=6, fill="none", stroke=ROLES[role],
            stroke_width=1.3, stroke_dasharray="5 3",
        )  # fmt: skip

    def cell(self, x: float, y: float, width: float, height: float, words: str) -> None:
        """Draws a piece of a file, with the number of the rank that owns it."""
        self._add("rect", x=x, y=y, width=width, height=height, class_="cell")
        if words:
            self.text(x + width / 2, y + height / 2 + 4, words, 11)

    def rule(self, x: float, y: float, to: float, role: str) -> None:
        """Draws a line below or above something, to mark a range of it."""
        self._add("path", d=f"M{_number(x)} {_number(y)}H{_number(to)}", stroke=ROLES[role], stroke_width=3)

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        wide: bool = False,
        dashed: bool = False,
    ) -> None:
        """Draws an arrow for the way of data. A dashed arrow is only a notice, or an access that comes
        later."""
        (x, y), (to_x, to_y) = start, end
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        along, across = (to_x - x) / length, (to_y - y) / length
        base_x, base_y = to_x - 7 * along, to_y - 7 * across
        more = {"stroke_dasharray": "4 3"} if dashed else {}
        self._add(
            "line", x1=x, y1=y, x2=base_x, y2=base_y, class_="line", stroke_width=2.6 if wide else 1.2, **more
        )
        points = [
            (to_x, to_y),
            (base_x - 3.5 * across, base_y + 3.5 * along),
            (base_x + 3.5 * across, base_y - 3.5 * along),
        ]
        self._add("polygon", points=" ".join(f"{_number(a)},{_number(b)}" for a, b in points), class_="head")

    def step(self, x: float, y: float, number: int) -> None:
        """Draws the number of a step in a disc."""
        self._add("circle", cx=x, cy=y, r=8, class_="ink")
        self._add("text", str(number), x=x, y=y + 4, font_size=11, text_anchor="middle", class_="number",
                  font_weight="bold")  # fmt: skip
        self.texts.append((x - 8, y - 8, x + 8, y + 8))

    def steps(self, y: float, told: list[str]) -> float:
        """Draws the numbered sentences from `y` down; returns where they end."""
        for number, sentence in enumerate(told, 1):
            self.step(18, y - 4, number)
            for line in textwrap.wrap(sentence, LINE_CHARACTERS):
                self.text(34, y, line, anchor="start")
                y += 16
            y += 4
        return y

    def svg(self, height: float) -> str:
        """Returns the whole drawing."""
        paper = (
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{_number(height - 1)}" rx="8" class="paper"/>'
        )
        return (
            "<!-- Drawn from src/plan/methods.cpp: ./lab/oratorio_lab/pictures -->\n"
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{_number(height)}" '
            f'viewBox="0 0 {WIDTH} {_number(height)}" role="img">\n<title>{escape(self._title)}</title>\n'
            f"<desc>{escape(self._summary)}</desc>\n<style>{STYLE}</style>\n{paper}\n"
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )
