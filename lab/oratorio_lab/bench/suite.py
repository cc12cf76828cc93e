# SPDX-License-Identifier: BSD-3-Clause
"""Lists the runs of `oratorio bench suite`."""

from collections.abc import Sequence
from pathlib import Path

from oratorio_lab.bench import e3sm
from oratorio_lab.bench.run import Run
from oratorio_lab.bench.workloads import SUITE, WORKLOADS, BenchError, Workload


def _refusal(workload: Workload, map_file: Path | None, ranks: int) -> str:
    reason = workload.refusal(ranks)
    if map_file and not reason:
        try:
            e3sm.check_map(map_file, workload.case, [ranks])
        except BenchError as error:
            reason = str(error)
    return reason


def runs_of(
    ranks: Sequence[int], smoke: bool, names: Sequence[str], maps: Sequence[Path]
) -> tuple[list[Run], list[str]]:
    """Returns the runs of the named workloads (default: all) that are possible, and the reasons for
    skipping others. A name is that of a workload or, as in the table of results, that of a workload with
    parameters ("array 4 KiB"). Raises BenchError if there is no such workload."""
    strangers = set(names) - set(WORKLOADS) - {figure.label for figure in SUITE}
    if strangers:
        raise BenchError(
            f"no workload {', '.join(sorted(strangers))}; the workloads are {', '.join(WORKLOADS)}"
        )
    of_case = {e3sm.case_of(map_file).name: map_file for map_file in maps}
    runs, skipped = [], []
    for figure in SUITE:
        workload = WORKLOADS[figure.workload]
        if names and not {workload.name, figure.label} & set(names):
            continue
        values = workload.values({} if smoke else figure.given, smoke)
        map_file = of_case.get(workload.case)
        for count in ranks:
            if reason := _refusal(workload, map_file, count):
                skipped.append(reason)
            else:
                runs.append(Run(figure.label, workload.name, values, count, map_file))
    return runs, skipped
