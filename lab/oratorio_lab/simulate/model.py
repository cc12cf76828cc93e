# SPDX-License-Identifier: BSD-3-Clause
"""The closed form: predicts the time of a collective access on a machine from a schedule of the library's
plan.

The closed form is the library's own, with which `auto` compares methods (src/plan/model.cpp); this module
calls it. docs/research/simulate.md has the formulas in words.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from oratorio_lab.simulate.machine import Machine, SimulateError, costs, with_value
from oratorio_lab.simulate.schedule import Schedule, program


@dataclass(frozen=True)
class Prediction:
    """The prediction of one schedule on one machine; times are in seconds, for all rounds."""

    arm: str
    metadata: float
    gather: float
    exchange: float
    storage: float
    seconds: float  # total; less than the sum of the phases if they overlap
    bound: str  # what the exchange waits for
    messages: float  # messages to aggregators and, in two layers, to local aggregators, with the replies
    far_messages: float
    depth: float  # length of the longest queue that is searched for a message
    busiest: float  # messages that the busiest aggregator receives in a round

    def rate(self, size: int) -> float:
        """Returns the rate in GiB/s."""
        return size / self.seconds / 2**30


def predictions(schedule: Schedule, machines: Sequence[Machine]) -> list[Prediction]:
    """Returns a prediction for each machine. Raises SimulateError."""
    question = "".join(costs(machine) for machine in machines) + schedule.text
    told = subprocess.run([program(), "terms"], input=question, capture_output=True, text=True)
    if told.returncode != 0:
        raise SimulateError(
            f"the closed form of {schedule.arm} failed: {told.stderr.strip() or told.returncode}"
        )
    answers = []
    for line in told.stdout.splitlines():
        *words, bound = line.split(maxsplit=9)
        times, counts = [float(word) * 1e-9 for word in words[:5]], [float(word) for word in words[5:]]
        answers.append(Prediction(schedule.arm, *times, bound, *counts))
    return answers


def predict(schedule: Schedule, machine: Machine) -> Prediction:
    """Predicts all rounds from the sampled ones. Raises SimulateError."""
    return predictions(schedule, [machine])[0]


def winner(predictions: Sequence[Prediction]) -> Prediction:
    """Returns the fastest prediction."""
    return min(predictions, key=lambda one: one.seconds)


@dataclass(frozen=True)
class Sensitivity:
    """The fastest method, and its gain, on the machine as it is or with one of its constants changed."""

    change: str
    winner: Prediction
    gain: float  # the time of the first arm divided by that of the fastest


def changes(machine: Machine) -> list[tuple[str, float]]:
    """Returns the constants that are varied, each with another value."""
    receive, rate = machine.endpoint.receive_us, machine.storage.rate_mbs
    listed = [("endpoint.receive_us", receive / 2), ("endpoint.receive_us", receive * 2)]
    listed += [("endpoint.queue_ns", value) for value in (0.0, 4.0, 10.0, 50.0)]
    listed += [("endpoint.disorder", value) for value in (0.0, 0.1, 1.0)]
    return [*listed, ("storage.rate_mbs", rate / 2), ("storage.rate_mbs", rate * 2)]


def sensitivities(schedules: Sequence[Schedule], machine: Machine) -> list[Sensitivity]:
    """Returns the fastest schedule and its gain over the first one: for the machine as it is, then for each
    change of the least known constants."""
    changed = changes(machine)
    machines = [machine, *(with_value(machine, key, value) for key, value in changed)]
    names = ["as the file says", *(f"{key} = {value:g}" for key, value in changed)]
    told = []
    by_schedule = [predictions(schedule, machines) for schedule in schedules]
    for name, of_machine in zip(names, zip(*by_schedule, strict=True), strict=True):
        best = winner(of_machine)
        told.append(Sensitivity(name, best, of_machine[0].seconds / best.seconds))
    return told
