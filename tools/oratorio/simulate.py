# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio simulate`: what a collective write would take on a machine, from the library's own plans."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from oratorio import method_table, sim_report
from oratorio.sim_machine import Machine, SimulateError, known, load, with_value
from oratorio.sim_model import predict, sensitivities
from oratorio.sim_report import Answer
from oratorio.sim_schedule import WORKLOADS, Arm, Planner, Workload, workload_of

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
stderr = Console(stderr=True, highlight=False)

RANKS_OF_NODE = (1, 2, 4, 16)  # local aggregators that are tried, if nobody says how many


def default_methods(ranks: int, nodes: int) -> list[str]:
    """Two phases, and two layers with four numbers of local aggregators, as far as there are ranks."""
    numbers = sorted({min(ranks, nodes * each) for each in RANKS_OF_NODE})
    return ["two_phase", *(f"two_layer:{number}" for number in numbers)]


def own_hints(machine: Machine, hints: Sequence[str]) -> dict[str, str]:
    """As many aggregators as storage targets, file domains cut at stripes, unless `hints` say otherwise.

    Raises SimulateError."""
    told = {"cb_nodes": str(machine.storage.targets), "striping_unit": str(machine.storage.stripe_bytes)}
    for hint in hints:
        key, equals, value = hint.partition("=")
        if not (key and equals) or ";" in value:
            raise SimulateError(f"a hint is key=value, without ';': {hint}")
        told[key] = value
    return told


def arm_hints(arm: str, machine: Machine, hints: Sequence[str]) -> dict[str, str]:
    """Hints of an arm `method` or `method:local aggregators`. Raises SimulateError."""
    method, _, number = arm.partition(":")
    if complaint := method_table.complaint(method):
        raise SimulateError(complaint)
    if number and (not number.isdigit() or int(number) < 1):
        raise SimulateError(f"{arm}: behind the colon is a number of local aggregators")
    told = own_hints(machine, hints) | {"oratorio_method": method}
    return told | ({"oratorio_local_aggregators": number} if number else {})


def nodes_of(machine: Machine, ranks: int, nodes: int | None) -> int:
    """How many nodes a job has; a rank on each core if nobody says. Raises SimulateError."""
    chosen = nodes or -(-ranks // machine.cores)
    if chosen > machine.nodes:
        raise SimulateError(f"{ranks} ranks take {chosen} nodes; {machine.name} has {machine.nodes}")
    if ranks % chosen:
        raise SimulateError(f"{ranks} ranks can't be spread evenly over {chosen} nodes")
    return chosen


def fitting(arms: Sequence[str], ranks: int) -> list[str]:
    """Without those that have more local aggregators than there are ranks."""
    numbers = [arm.partition(":")[2] for arm in arms]
    return [
        a for a, number in zip(arms, numbers, strict=True) if not number.isdigit() or int(number) <= ranks
    ]


def answer(
    planner: Planner, machine: Machine, workload: Workload, job: tuple[int, int], arms: list[Arm],
    rounds: int,
) -> Answer:  # fmt: skip
    """Of ranks and nodes. Raises SimulateError."""
    schedules = planner.schedules(workload, *job, arms, rounds)
    predictions = [predict(schedule, machine) for schedule in schedules]
    return Answer(machine, workload.name, schedules, predictions, sensitivities(schedules, machine))


def _given(machine: Machine, values: Sequence[str]) -> Machine:
    for value in values:
        key, equals, text = value.partition("=")
        try:
            number: object = int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            number = text
        if not equals:
            raise SimulateError(f"--set is KEY=VALUE, not {value}")
        machine = with_value(machine, key, number)
    return machine


@app.command()
def simulate(
    machine: Annotated[str, typer.Option(help=f"A machine file, or one of {', '.join(known())}.")] = "theta",
    workload: Annotated[str, typer.Option(help=f"One of {', '.join(WORKLOADS)}.")] = "e3sm_f",
    ranks: Annotated[list[int] | None, typer.Option(min=2, help="Of the job; repeatable. 16384.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="A rank on each core if not given.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="two_phase,two_layer:256,...: behind a colon local aggregators, at most as many as ranks."
        ),
    ] = None,
    hints: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An info key for all methods; repeatable.")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Another value of the machine's.")
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="Of a real run, for e3sm_f and e3sm_g.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="At most so many are walked; they stand for all.")] = 3,
    plot: Annotated[Path | None, typer.Option(help="A picture of the phases.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="The tables as a page.")] = None,
) -> None:
    """What a collective write would take on a machine, from the library's own plans."""
    console = Console(width=None if os.isatty(1) else 160, highlight=False)
    try:
        described = _given(load(machine), values or [])
        what = workload_of(workload, map_file)
        jobs = [(count, nodes_of(described, count, nodes)) for count in ranks or [16384]]
        answers = []
        with Planner() as planner:
            for job in jobs:
                named = fitting(methods.split(","), job[0]) if methods else default_methods(*job)
                arms = [(arm, arm_hints(arm, described, hints or [])) for arm in named]
                answers.append(answer(planner, described, what, job, arms, rounds))
                sim_report.show(console, answers[-1])
        if markdown:
            markdown.write_text("\n".join(sim_report.page(one) for one in answers))
        if plot:
            sim_report.draw(plot, answers)
    except (SimulateError, OSError) as error:
        stderr.print(f"oratorio: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
