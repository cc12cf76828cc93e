# SPDX-License-Identifier: BSD-3-Clause
"""Compares the time that the library's cost model predicts for a benchmark's passes with the time that they
took."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich.table import Table

from oratorio.calibrate import calibrate
from oratorio.errors import OratorioError
from oratorio.machine.costs import in_force
from oratorio.quantity import counted
from oratorio_lab.bench.arms import is_oratorios
from oratorio_lab.bench.run import Run, Settings

MILLI = 1e-3
BUILT_IN = "built-in costs (src/plan/costs.def)"


@dataclass(frozen=True)
class Predicted:
    """The predicted and the measured time of an arm's passes in one direction; medians, in seconds."""

    workload: str
    ranks: int
    arm: str
    direction: str
    seconds: float  # predicted by the plans of the accesses before they ran
    took: float  # measured: all calls of a pass together (CallTimes in lab/bench/clock.hpp)
    farthest: float  # largest deviation of a pass from the median, in % of the median

    @property
    def error(self) -> float:
        """The error in % of the measured time; negative if the passes took longer than predicted."""
        return 100 * (self.seconds / self.took - 1)


def predicted(run: Run, arm: str, direction: str) -> Predicted | None:
    """Returns the prediction for an arm in one direction; None if no successful pass has planned accesses."""
    samples = [s for s in run.measured(arm, direction) if s["account"].get("estimated_time")]
    if not samples:
        return None
    # The account is a sum over ranks, and each rank's part is the estimate of the whole collective access. So
    # the mean over ranks is the estimate of one pass.
    seconds = median(s["account"]["estimated_time"] for s in samples) * MILLI / run.ranks
    times = [s["seconds"] for s in samples]
    took = median(times)
    farthest = 100 * max(abs(time / took - 1) for time in times)
    return Predicted(run.label, run.ranks, arm, direction, seconds, took, farthest)


def all_predicted(runs: Sequence[Run], settings: Settings) -> list[Predicted]:
    """Returns the predictions for Oratorio's arms in all runs and directions."""

    def each() -> Iterator[Predicted | None]:
        for run in runs:
            for direction in settings.directions:
                for arm in filter(is_oratorios, settings.arms):
                    yield predicted(run, arm, direction)

    return [one for one in each() if one]


def constants(settings: Settings) -> str:
    """Returns the source of the cost constants that the library uses for the test files.

    Emulated nodes (namespaces) have host names of their own, so cost files of a single machine are not used
    there.
    """
    try:
        place = calibrate.place_of(settings.folder)
    except OratorioError as error:
        return f"unknown: {error}"
    names = place.names[1:] if settings.nodes > 1 else place.names
    return in_force(os.environ, names)[1] or BUILT_IN


def summary(runs: Sequence[Run], settings: Settings) -> str:
    """Summarises how far off the predictions are, and which constants they used."""
    found = all_predicted(runs, settings)
    if not found:
        return "nothing was predicted"
    errors = [abs(one.error) for one in found]
    spread = [one.farthest for one in found]
    return (
        f"{counted(len(found), 'prediction')}, off by {median(errors):.0f} % in the median and "
        f"{max(errors):.0f} % at worst; single passes deviate from their median by up to "
        f"{median(spread):.0f} % in the median and {max(spread):.0f} % at worst. "
        f"Constants: {constants(settings)}"
    )


def table(runs: Sequence[Run], settings: Settings) -> Table:
    """Returns a table with a row for each of Oratorio's arms in each direction."""
    title = "Milliseconds of a pass, as predicted by the cost model and as measured"
    shown = Table(title=title, title_justify="left")
    for name in ("workload", "ranks", "direction", "arm", "predicted", "took", "error %", "farthest pass %"):
        shown.add_column(name, justify="left" if name in ("workload", "direction", "arm") else "right")
    for one in all_predicted(runs, settings):
        shown.add_row(
            one.workload, str(one.ranks), one.direction, one.arm, f"{one.seconds / MILLI:.2f}",
            f"{one.took / MILLI:.2f}", f"{one.error:+.0f}", f"{one.farthest:.0f}",
        )  # fmt: skip
    return shown


def record(runs: Sequence[Run], settings: Settings) -> dict | None:
    """Returns the predictions for a file of results; None if they were not requested."""
    if not settings.predict:
        return None
    found = all_predicted(runs, settings)
    errors = [abs(one.error) for one in found]
    return {
        "constants": constants(settings),
        "median_error": median(errors) if errors else None,
        "worst_error": max(errors, default=None),
        "each": [asdict(one) | {"error": one.error} for one in found],
    }
