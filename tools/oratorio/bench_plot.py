"""The benchmark's chart."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot

from oratorio import bench_report
from oratorio.bench_run import Run, Settings

COLORS = {"host": "#9aa5b1", "host_tuned": "#66717d", "raw": "#e0e4e8", "auto": "#1565c0"}


def draw(file: Path, runs: Sequence[Run], settings: Settings) -> None:
    """Bars for each run: MiB/s of the arms on a log scale, writes above reads."""
    shown = [run for run in runs if run.setup]
    if not shown:
        return
    width = 0.8 / len(settings.arms)
    size = (max(6, 1.5 + 0.8 * len(shown)), 7)
    figure, panels = pyplot.subplots(2, 1, figsize=size, sharex=True)
    for panel, direction in zip(panels, bench_report.DIRECTIONS, strict=True):
        for place, arm in enumerate(settings.arms):
            rates = [
                next(s.mib_per_s or 0 for s in bench_report.summarise(run, settings.arms)
                     if (s.arm, s.direction) == (arm, direction))
                for run in shown
            ]  # fmt: skip
            shift = (place - (len(settings.arms) - 1) / 2) * width
            panel.bar([i + shift for i in range(len(shown))], rates, width, label=arm, color=COLORS.get(arm))
        panel.set_yscale("log")
        panel.set_ylabel(f"{direction}, MiB/s")
        panel.spines[["top", "right"]].set_visible(False)
    labels = [f"{run.label}\n{run.ranks} ranks" for run in shown]
    panels[1].set_xticks(range(len(shown)), labels, rotation=60, ha="right", fontsize=8)
    panels[0].legend(frameon=False, ncols=len(settings.arms))
    panels[0].set_title(f"{settings.host.name}, {bench_report.machine(settings)['file_system']}")
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
