# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio simulate --search`: finds the hints with which a collective access is fastest, as predicted by
the closed form.

Varies one group of hints after the other while the rest stay the same. Ends after a turn through all groups
that has changed nothing, or after TURNS_MAX turns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio_lab.simulate.machine import Machine
from oratorio_lab.simulate.model import Prediction, predict
from oratorio_lab.simulate.schedule import Schedule

MIB = 1 << 20
TURNS_MAX = 3
WORTH = 0.99  # a change is kept only if it reduces the time to less than this share

Hints = dict[str, str]
Plan = Callable[[Sequence[Mapping[str, str]]], list[Schedule]]


@dataclass(frozen=True)
class Step:
    """One step of the search: the best hints after all values of one group of hints were tried."""

    tried: Sequence[str]  # the group's values, as key=value
    chosen: Hints
    prediction: Prediction


def choices(machine: Machine, ranks: int, nodes: int) -> list[list[Hints]]:
    """Returns groups of hints that are varied together, and the values to try."""
    locals_of_node = [each for each in (1, 2, 4, 8, 16) if each * nodes <= ranks]
    layers = [{"oratorio_method": "two_phase"}] + [
        {"oratorio_method": "two_layer", "oratorio_local_aggregators": str(each * nodes)}
        for each in locals_of_node
    ]
    targets = machine.storage.targets
    counts = sorted({min(ranks, count) for count in (max(1, targets // 2), targets, 2 * targets)})
    return [
        layers,
        [{"oratorio_slots": str(slots)} for slots in (1, 2, 4)],
        [{"cb_nodes": str(count)} for count in counts],
        [{"cb_buffer_size": str(size * MIB)} for size in (4, 16, 64)],
        [{"oratorio_messages_in_flight": str(count)} for count in (2, 4, 8)],
    ]


def merged(hints: Mapping[str, str], change: Mapping[str, str]) -> Hints:
    """Returns the hints with a change. A new method drops the number of local aggregators, which belongs to
    the old method."""
    kept = {
        key: value
        for key, value in hints.items()
        if not ("oratorio_method" in change and key == "oratorio_local_aggregators")
    }
    return {**kept, **change}


def search(plan: Plan, machine: Machine, start: Hints, options: Sequence[Sequence[Hints]]) -> list[Step]:
    """Returns the steps of the search; the last step has the best hints. The search is deterministic."""
    best = predict(plan([start])[0], machine)
    steps = [Step([], start, best)]
    for turn in range(TURNS_MAX):
        changed = False
        for values in options:
            current = steps[-1].chosen
            tried = [one for change in values if (one := merged(current, change)) != current]
            if not tried:  # each value is one of the current hints
                continue
            predictions = [predict(schedule, machine) for schedule in plan(tried)]
            least = min(range(len(tried)), key=lambda i: predictions[i].seconds)
            names = [" ".join(f"{key}={value}" for key, value in change.items()) for change in values]
            if predictions[least].seconds < WORTH * steps[-1].prediction.seconds:
                steps.append(Step(names, tried[least], predictions[least]))
                changed = True
            elif turn == 0:
                steps.append(Step(names, current, steps[-1].prediction))
        if not changed:
            break
    return steps


def hint_text(title: str, step: Step) -> str:
    """Returns the text of a file for ROMIO_HINTS: lines of a key and a value."""
    lines = [f"# {title}", f"# predicted: {step.prediction.seconds:.3f} s"]
    return "\n".join([*lines, *(f"{key} {value}" for key, value in step.chosen.items())]) + "\n"


def write(file: Path, title: str, step: Step) -> None:
    """Writes the best hints as a file for ROMIO_HINTS. Raises OSError."""
    file.write_text(hint_text(title, step))
