# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio bench --nodes`: runs on emulated nodes, which are namespaces of this machine."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from oratorio_lab.bench.run import Run, Settings
from oratorio_lab.bench.workloads import BenchError
from oratorio_lab.nodes import Nodes, NoNodesError

Job = tuple[Run, Settings]


def _check(jobs: Sequence[Job], nodes: int) -> None:
    for run, _ in jobs:
        if run.ranks % nodes:
            raise BenchError(f"{run.ranks} ranks can't be spread evenly over {nodes} nodes")


@contextmanager
def nodes_for(jobs: Sequence[Job]) -> Iterator[Callable[[Job], Settings]]:
    """Makes the nodes that the jobs ask for, and yields a function that returns the settings with which a job
    runs on them. Raises BenchError if the nodes cannot be made."""
    settings = jobs[0][1] if jobs else None
    if settings is None or settings.nodes == 1:
        yield lambda job: job[1]
        return
    _check(jobs, settings.nodes)
    with (
        tempfile.TemporaryDirectory() as scripts,
        tempfile.TemporaryDirectory(prefix="oratorio-bench-", dir=settings.folder) as files,
    ):
        in_memory = Path("/dev/shm") in Path(files).parents
        try:
            with Nodes(
                Path(scripts), settings.nodes, common=Path(files) if in_memory else None, link=settings.link
            ) as nodes:

                def placed(job: Job) -> Settings:
                    run, own = job
                    host = nodes.host(own.host, run.ranks // own.nodes)
                    return replace(own, host=host, folder=Path(files))

                yield placed
        except NoNodesError as error:
            raise BenchError(f"--nodes: {error}") from None
