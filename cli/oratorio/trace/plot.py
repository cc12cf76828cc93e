# SPDX-License-Identifier: BSD-3-Clause
"""Draws a trace: a band for each rank, with its phases above and the details of each phase below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from oratorio.errors import OratorioError
from oratorio.trace.trace import File, Span, TraceError

COLORS = {
    "planning": "#8E6BBF",
    "awaiting_turn": "#D9D9D9",
    "extending": "#B58B5A",
    "working": "#C9DDF0",
    "passing_turn": "#D9D9D9",
    "agreeing": "#E3A0C0",
    "reporting": "#D64545",
    "exchanging": "#9CC3E6",
    "storage": "#E07B39",
    "copying": "#3B7DBF",
    "waiting": "#ECECEC",
    "message": "#222222",
}
PHASE = (0.1, 0.4)  # a phase's offset in the band of its rank, and its height
DETAIL = (0.55, 0.3)
RANKS_MOST = 64  # at most this many ranks are drawn, because more bands could not be distinguished
BARS_MOST = 20_000


@cache
def pyplot() -> ModuleType:
    """Returns matplotlib's pyplot, imported only when something is drawn, because the import takes longer
    than a small run. Raises OratorioError if matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415
    except ImportError:
        raise OratorioError("a picture needs matplotlib: pip install matplotlib") from None

    mpl.use("Agg")
    from matplotlib import pyplot as module  # noqa: PLC0415

    return module


def _bars(spans: Sequence[Span], name: str, begin: float) -> list[tuple[float, float]]:
    return [(1e3 * (span.begin - begin), 1e3 * span.seconds) for span in spans if span.name == name]


def draw(file: File, out: Path) -> None:
    """Draws the first RANKS_MOST ranks of a file over time, as a picture in the file `out`. Raises
    OratorioError if the file has no access, or the picture can't be written."""
    if not file.accesses:
        raise TraceError(f"{file.path}: there is no access to draw")
    plots = pyplot()
    begin = min(access.begin for access in file.accesses)
    ranks = sorted({access.rank for access in file.accesses})[:RANKS_MOST]
    figure, axes = plots.subplots(figsize=(11, 1.4 + 0.5 * len(ranks)))
    drawn = {}
    for place, rank in enumerate(ranks):
        spans = [span for access in file.accesses if access.rank == rank for span in access.spans][:BARS_MOST]
        for name, color in COLORS.items():
            bars = _bars(spans, name, begin)
            if not bars:
                continue
            is_phase = any(span.category == "phase" for span in spans if span.name == name)
            low, height = PHASE if is_phase else DETAIL
            if name == "message":
                drawn[name] = axes.plot(
                    [at for at, _ in bars], [place + 0.92] * len(bars), "|", color=color, markersize=4
                )[0]
            else:
                drawn[name] = axes.broken_barh(bars, (place + low, height), facecolors=color)
    axes.set_yticks([place + 0.5 for place in range(len(ranks))], [f"rank {rank}" for rank in ranks])
    axes.set_ylim(len(ranks), 0)
    axes.set_xlabel("milliseconds since the first access began")
    axes.set_title(file.path, loc="left", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    names = [name.replace("_", " ") for name in drawn]
    axes.legend(drawn.values(), names, ncols=len(names), frameon=False, loc="upper left", fontsize=8,
                bbox_to_anchor=(0, -0.9 / (0.9 + 0.5 * len(ranks))))  # fmt: skip
    figure.tight_layout()
    try:
        figure.savefig(out, dpi=130)
    except OSError as error:
        raise OratorioError(f"{out} can't be written: {error.strerror}; choose another path") from None
    except ValueError as error:  # an unknown suffix
        raise OratorioError(f"{out} can't be drawn: {error}") from None
    finally:
        plots.close(figure)
