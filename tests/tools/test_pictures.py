# SPDX-License-Identifier: BSD-3-Clause
"""Tests pictures of measurements: nothing overlaps, they fit a page, and an arm looks the same in all of
them."""

import itertools
import math
from pathlib import Path

import pytest

from oratorio.launch.hosts import Host
from oratorio.library.method_table import methods
from oratorio_lab.bench import plot, styles
from oratorio_lab.bench.arms import BARE, TUNINGS, bare_arms
from oratorio_lab.bench.run import Run, Settings
from oratorio_lab.bench.workloads import SUITE as FIGURES
from oratorio_lab.papers import measure
from oratorio_lab.papers.figures import PAPERS, PREFETCH, SLOTS, SUB_BUFFERS

NOWHERE = Path("/nowhere")
HOST = Host("mpich5", "mpich", NOWHERE, NOWHERE, NOWHERE, "5.0.2", "hydra")
WORKLOADS = tuple(figure.label for figure in FIGURES)
SUITE = ("host", "host_tuned", "auto", "raw")
PAPER = (
    "shared_buffer",
    "shared_buffer_list",
    "mmap",
    "list_io",
    "two_phase",
    "sieve",
    "auto",
    "host",
    "raw",
)
MIB = 1 << 20


def settings_of(arms, directions=("write", "read")) -> Settings:
    return Settings(HOST, tuple(arms), (), 1, Path("/tmp"), 60, directions=directions)


def fill(run: Run, settings: Settings, rate) -> Run:
    """Fills a run with samples of `rate(number of the arm, number of the direction)` MiB/s."""
    for (number, arm), (turn, direction) in itertools.product(
        enumerate(settings.arms), enumerate(settings.directions)
    ):
        mib_per_s = rate(number, turn)
        run.samples.append(
            {
                "arm": arm, "direction": direction, "repeat": 0, "verified": True, "error": "",
                "bytes": 64 * MIB, "seconds": 64 / mib_per_s, "mib_per_s": mib_per_s, "open_seconds": 0.1,
                "call_peak_bytes": 0, "total_peak_bytes": 0, "holes_kept": True,
            }
        )  # fmt: skip
    return run


def suite(arms, ranks=(8,), workloads=WORKLOADS) -> tuple[list[Run], Settings]:
    """Returns runs with rates from a hundredth of the rate of raw I/O to three times that rate."""
    settings = settings_of(arms)
    runs = []
    for place, (count, workload) in enumerate(itertools.product(ranks, workloads)):
        run = Run(workload, workload.split()[0], {}, count)

        def rate(number, turn, place=place):
            raw = 1500 * (1 + 6 * turn)
            if settings.arms[number].startswith("raw"):
                return raw
            return raw * (0.012, 0.33, 0.97, 1.02, 3.01)[(number * 2 + place + turn) % 5]

        runs.append(fill(run, settings, rate))
    return runs, settings


def paper(year, modes=("buffered",), arms=()) -> measure.Measured:
    """Returns a measured paper with rates that rise with the numbers of the arm and of the value."""
    known = PAPERS[year]
    scale = measure.Scale((2, 4, 8), arms)
    measured = measure.plan(known, known.figures, modes, scale, settings_of(()))
    for place, (run, settings) in enumerate(measure.jobs(measured)):
        fill(run, settings, lambda number, turn, place=place: 100 + 97 * number * (place + 1) + turn)
    return measured


def figures():
    """Returns name -> function that draws the figure."""
    of_suite = {
        "suite": lambda: plot.bars(*suite(SUITE)),
        "suite of three numbers of ranks": lambda: plot.bars(*suite(SUITE, ranks=(2, 4, 16))),
        "suite of all methods": lambda: plot.bars(*suite([*methods(), "raw"], workloads=WORKLOADS[:4])),
        "one workload": lambda: plot.bars(*suite(SUITE, ranks=(2, 4, 8), workloads=["tile"])),
        "without raw": lambda: plot.bars(*suite(["host", "auto"], workloads=WORKLOADS[:3])),
    }
    for modes in (("buffered",), ("buffered", "direct")):
        for name in PAPERS["2006"].figures:
            of_suite[f"2006, {name}, {' and '.join(modes)}"] = lambda n=name, m=modes: measure.figure_of(
                n, paper("2006", m, PAPER)
            )
    for year in PAPERS:
        for name in measure.figure_names(paper(year)):
            of_suite[f"{year}, {name}"] = lambda n=name, y=year: measure.figure_of(n, paper(y))
    return of_suite


@pytest.fixture(params=figures().items(), ids=lambda item: item[0])
def figure(request):
    made = request.param[1]()
    made.set_dpi(styles.DOTS_PER_INCH)
    made.canvas.draw()
    yield made
    plot.pyplot().close(made)


def shown_texts(figure) -> list:
    """Returns each visible text with its box."""
    from matplotlib.text import Text  # noqa: PLC0415

    hidden = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:  # the tick exists, but is not drawn
                hidden |= {tick.label1, tick.label2}
    renderer = figure.canvas.get_renderer()
    return [
        (text.get_text(), text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in hidden
    ]


def test_no_two_labels_overlap(figure):
    boxes = shown_texts(figure)
    assert len(boxes) > 10
    overlapping = [
        (one, other)
        for (one, box), (other, another) in itertools.combinations(boxes, 2)
        if min(box.x1, another.x1) - max(box.x0, another.x0) > 0.5
        and min(box.y1, another.y1) - max(box.y0, another.y0) > 0.5
    ]
    assert overlapping == []


def test_a_picture_is_as_wide_as_a_page_and_nothing_leaves_it(figure):
    width, height = figure.canvas.get_width_height()
    assert width == round(styles.PAGE_INCHES * styles.DOTS_PER_INCH) <= 900
    outside = [
        text
        for text, box in shown_texts(figure)
        if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height
    ]
    assert outside == []


def bars_of(figure, axes_number=0) -> list:
    return [bar for bar in figure.axes[axes_number].patches if bar.get_width() > 0]


def test_a_bar_that_is_cut_is_marked_and_has_its_value():
    settings = settings_of(("auto", "raw"), directions=("write",))
    runs = [fill(Run(f"times {n}", "tile", {}, 4), settings, lambda arm, _, n=n: (n, 1)[arm]) for n in (1, 3)]
    figure = plot.bars(runs, settings)
    (axes,) = figure.axes
    assert [bar.get_width() for bar in bars_of(figure)] == [pytest.approx(100), plot.CLIP]
    said = {text.get_text(): text for text in axes.texts}
    assert said["300"].get_fontweight() == "bold" and said["100"].get_fontweight() == "normal"
    strokes = [line for line in axes.lines if line.get_color() == "white"]
    assert len(strokes) == 2, "through the one bar that is cut"
    assert all(0.9 * plot.CLIP < min(line.get_xdata()) < plot.CLIP for line in strokes)
    assert all(0.5 < at < 1.5 for line in strokes for at in line.get_ydata())
    plot.pyplot().close(figure)


def distance(one: str, other: str) -> float:
    first, second = ([int(color[at : at + 2], 16) for at in (1, 3, 5)] for color in (one, other))
    return math.dist(first, second)


def test_every_method_has_its_own_colour():
    arms = [*methods(), *SLOTS, *PREFETCH, *SUB_BUFFERS, "host", "host_tuned", *TUNINGS, *BARE, "raw"]
    assert set(arms) <= set(styles.LOOKS)
    for one, other in itertools.combinations(arms, 2):
        colors = styles.look_of(one).color, styles.look_of(other).color
        assert distance(*colors) > 20, (one, other)


def test_a_bare_program_uses_only_instructions_of_the_processor():
    assert bare_arms("model name : any\nflags : fpu sse2\n") == ["bare"]
    assert bare_arms("flags\t\t: fpu avx2 avx512f") == ["bare", "bare_avx2", "bare_avx512"]


def legend_colors(figure) -> dict[str, str]:
    from matplotlib.colors import to_hex  # noqa: PLC0415

    (legend,) = figure.legends
    return {
        text.get_text(): to_hex(
            handle.get_color() if hasattr(handle, "get_color") else handle.get_facecolor()
        )
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
    }


def test_an_arm_looks_the_same_in_all_pictures():
    seen = {}
    for figure in (draw() for draw in figures().values()):
        for label, color in legend_colors(figure).items():
            assert seen.setdefault(label, color) == color, label
        plot.pyplot().close(figure)
    assert seen["Oratorio"] == styles.LOOKS["auto"].color.lower()
    assert "auto" not in seen and len(seen) > len(methods())
    assert styles.look_of("host_mine") == styles.look_of("host_mine")
    assert styles.look_of("host_mine").label == "host_mine"
