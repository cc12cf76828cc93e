# SPDX-License-Identifier: BSD-3-Clause
"""Claims of papers about their figures, as quotations, and measures that judge the claims by results from
this machine."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

Rates = dict[str, list[float | None]]  # the rates of a curve: arm -> MiB/s at each value
Measure = Callable[[Sequence[Rates]], float | None]  # its argument: all curves that the claim is about


@dataclass(frozen=True)
class Claim:
    """A paper's claim. It holds here if the value of its measure is between `least` and `most`, and otherwise
    in part if the value is at least `partly`."""

    said: str
    figure: str
    direction: str
    measured: str  # the measure in words
    measure: Measure
    least: float
    most: float = math.inf
    partly: float = math.inf
    needs: str = ""  # a condition without which no gain is possible (measure.lacking)
    panel: str = ""  # the title of the only sweep of the figure that the claim is about; empty: all


@dataclass(frozen=True)
class Verdict:
    """A claim and the result of its measure."""

    claim: Claim
    value: float | None  # None if the rates that the measure needs were not measured
    passes: tuple[float, ...] = ()  # the same measure of each pass alone
    lacks: str = ""  # the reason why the claim cannot be shown here; empty if it can

    @property
    def word(self) -> str:
        """The verdict in words: whether the claim holds here, that the passes disagree about it, or why there
        is no verdict."""
        if self.value is None:
            return "not measured"
        if self.lacks:
            return f"cannot be shown here: {self.lacks}"
        words = {self._word_of(value) for value in (self.value, *self.passes)}
        return words.pop() if len(words) == 1 else "within the noise"

    def _word_of(self, value: float) -> str:
        if self.claim.least <= value <= self.claim.most:
            return "shows"
        return "shows in part" if value >= self.claim.partly else "does not show"

    @property
    def found(self) -> str:
        """The value, with the range of the passes if they differ."""
        if self.value is None:
            return ""
        ends = [f"{end:.2f}" for end in (min(self.passes), max(self.passes))] if self.passes else []
        return f"{self.value:.2f}" + (f" ({ends[0]} to {ends[1]})" if len(set(ends)) == 2 else "")


def _ratios(curves: Sequence[Rates], arm: str, over: Sequence[str]) -> list[list[float]]:
    """Returns, for each curve, the ratios of the arm's rate to the fastest of the arms `over`, at each value
    where both are known."""
    found = []
    for rates in curves:
        others = [rates[name] for name in over if name in rates]
        if arm not in rates or not others:
            continue
        here = []
        for mine, *theirs in zip(rates[arm], *others, strict=True):
            best = max((rate for rate in theirs if rate), default=None)
            if mine and best:
                here.append(mine / best)
        if here:
            found.append(here)
    return found


def times(arm: str, *over: str) -> Measure:
    """Returns a measure: the largest ratio of the arm to the fastest of the arms `over`, at any value of any
    curve."""
    return lambda curves: max((max(here) for here in _ratios(curves, arm, over)), default=None)


def typically(arm: str, *over: str) -> Measure:
    """Returns a measure: the median of the arm's ratios to the fastest of the arms `over`, at all values of
    all curves."""

    def measure(curves: Sequence[Rates]) -> float | None:
        every = [ratio for here in _ratios(curves, arm, over) for ratio in here]
        return median(every) if every else None

    return measure


def at_first(arm: str, *over: str) -> Measure:
    """Returns a measure: the ratio of the arm to the fastest of `over` at the first value where both are
    known; the largest of all curves."""
    return lambda curves: max((here[0] for here in _ratios(curves, arm, over)), default=None)


def at_last(arm: str, *over: str) -> Measure:
    """Returns a measure: the ratio of the arm to the fastest of `over` at the last value where both are
    known; the largest of all curves."""
    return lambda curves: max((here[-1] for here in _ratios(curves, arm, over)), default=None)


def of_raw(arm: str) -> Measure:
    """Returns a measure: the arm's bandwidth in per cent of raw I/O, at the value where that is highest."""

    def measure(curves: Sequence[Rates]) -> float | None:
        best = max(times(arm, raw)(curves) or 0 for raw in ("raw", "raw_direct"))
        return 100 * best or None

    return measure


def spread(arm: str) -> Measure:
    """Returns a measure of how much an arm's rate varies: its highest rate in a curve divided by its lowest
    one there, in the curve with the largest such ratio."""

    def measure(curves: Sequence[Rates]) -> float | None:
        ranges = [[rate for rate in rates.get(arm, ()) if rate] for rates in curves]
        return max((max(each) / min(each) for each in ranges if len(each) > 1), default=None)

    return measure


def first_to_last(arm: str) -> Measure:
    """Returns a measure: the arm's rate at the first value divided by that at the last; the median of all
    curves."""

    def measure(curves: Sequence[Rates]) -> float | None:
        ends = [(rates[arm][0], rates[arm][-1]) for rates in curves if rates.get(arm)]
        ratios = [first / last for first, last in ends if first and last]
        return median(ratios) if ratios else None

    return measure


def between_curves(arm: str) -> Measure:
    """Returns a measure: the arm's rate at the first value in its fastest curve, divided by that in its
    slowest curve."""

    def measure(curves: Sequence[Rates]) -> float | None:
        firsts = [rates[arm][0] for rates in curves if rates.get(arm) and rates[arm][0]]
        return max(firsts) / min(firsts) if len(firsts) > 1 else None

    return measure


def first_panel_to_last(arm: str) -> Measure:
    """Returns a measure: the arm's rate in the first curve divided by that in the last curve, at the last
    value of both."""

    def measure(curves: Sequence[Rates]) -> float | None:
        ends = [rates[arm][-1] for rates in curves if rates.get(arm)]
        return ends[0] / ends[-1] if len(ends) > 1 and ends[0] and ends[-1] else None

    return measure


def first_to_best(arm: str) -> Measure:
    """Returns a measure: the arm's rate at the first value divided by its highest rate at a later value, in
    the curve with the largest such ratio."""

    def measure(curves: Sequence[Rates]) -> float | None:
        lines = [rates[arm] for rates in curves if rates.get(arm)]
        ratios = [
            line[0] / max(later)
            for line in lines
            if line[0] and (later := [rate for rate in line[1:] if rate])
        ]
        return max(ratios, default=None)

    return measure


def best_of(arms: Sequence[str], over: str) -> Measure:
    """Returns a measure: the largest ratio of any of the arms to `over`, at any value of any curve."""

    def measure(curves: Sequence[Rates]) -> float | None:
        return max(filter(None, (times(arm, over)(curves) for arm in arms)), default=None)

    return measure


def lowest_to_peak(arm: str, *over: str) -> Measure:
    """Returns a measure: the arm's lowest rate in a curve divided by the highest rate there of the arm and of
    the arms `over`, in the curve with the smallest such ratio."""

    def measure(curves: Sequence[Rates]) -> float | None:
        ratios = []
        for rates in curves:
            mine = [rate for rate in rates.get(arm, ()) if rate]
            every = [rate for name in (arm, *over) for rate in rates.get(name, ()) if rate]
            if mine:
                ratios.append(min(mine) / max(every))
        return min(ratios, default=None)

    return measure


def rising(*arms: str) -> Measure:
    """Returns a measure: the share of steps from one arm to the next that go up, at all values of all
    curves."""

    def measure(curves: Sequence[Rates]) -> float | None:
        steps = [
            after > before
            for rates in curves
            for one, other in pairwise(arm for arm in arms if arm in rates)
            for before, after in zip(rates[one], rates[other], strict=True)
            if before and after
        ]
        return sum(steps) / len(steps) if steps else None

    return measure
