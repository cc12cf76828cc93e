# SPDX-License-Identifier: BSD-3-Clause
"""What the library's cost model takes the passes of a benchmark for, beside what they took."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich.table import Table

from oratorio import calibrate
from oratorio.bench_arms import is_oratorios
from oratorio.bench_run import Run, Settings
from oratorio.costs import costs_folder, in_force

MILLI = 1e-3
BUILT_IN = "those built in (src/plan/costs.def)"


@dataclass(frozen=True)
class Predicted:
    """An arm's measured passes in one direction; medians, in seconds."""

    workload: str
    ranks: int
    arm: str
    direction: str
    seconds: float  # by the plans that the accesses had, before they were done
    took: float  # of the calls: from the first rank's start to the last one's end
    farthest: float  # %: of the pass that is farthest from that median

    @property
    def error(self) -> float:
        """% of what it took; negative: it took longer."""
        return 100 * (self.seconds / self.took - 1)


def predicted(run: Run, arm: str, direction: str) -> Predicted | None:
    """None if the arm has no good pass whose accesses had plans."""
    samples = [s for s in run.measured(arm, direction) if s["account"].get("estimated_time")]
    if not samples:
        return None
    # Every rank adds the whole of a collective access, and the mean of those alone is what one does.
    seconds = median(s["account"]["estimated_time"] for s in samples) * MILLI / run.ranks
    times = [s["seconds"] for s in samples]
    took = median(times)
    farthest = 100 * max(abs(time / took - 1) for time in times)
    return Predicted(run.label, run.ranks, arm, direction, seconds, took, farthest)


def all_predicted(runs: Sequence[Run], settings: Settings) -> list[Predicted]:
    """Of Oratorio's arms in all runs and directions."""

    def each() -> Iterator[Predicted | None]:
        for run in runs:
            for direction in settings.directions:
                for arm in filter(is_oratorios, settings.arms):
                    yield predicted(run, arm, direction)

    return [one for one in each() if one]


def constants(settings: Settings) -> str:
    """Where the constants are from that the library has for the test files.

    Nodes that are namespaces have names of their own, so there are no files of costs of just one of them."""
    try:
        place = calibrate.place_of(calibrate.build_program(), settings.folder)
    except calibrate.CalibrateError as error:
        return f"unknown: {error}"
    names = place.names[1:] if settings.nodes > 1 else place.names
    return in_force(costs_folder(os.environ), names)[1] or BUILT_IN


def summary(runs: Sequence[Run], settings: Settings) -> str:
    """How far off, and by which constants."""
    found = all_predicted(runs, settings)
    if not found:
        return "nothing was predicted"
    errors = [abs(one.error) for one in found]
    spread = [one.farthest for one in found]
    return (
        f"{len(found)} predictions, off by {median(errors):.0f} % in the median and {max(errors):.0f} % "
        f"at worst; the passes alone are {median(spread):.0f} and {max(spread):.0f} % from their own median. "
        f"Constants: {constants(settings)}"
    )


def table(runs: Sequence[Run], settings: Settings) -> Table:
    """A row for each of Oratorio's arms in each direction."""
    title = "Milliseconds of a pass, as the cost model predicts them and as they were measured"
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
    """The same for a file of results; None if nobody asked for it."""
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
