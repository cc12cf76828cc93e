# SPDX-License-Identifier: BSD-3-Clause
"""Creates recorded runs for the tests of reports and advice."""

from oratorio.report.explained import Candidate, Decision, Explained
from oratorio.report.facts import Run
from oratorio.trace.trace import Access, Call, File, Span

KIB = 1 << 10
MIB = 1 << 20


def span(name, begin, seconds, category="phase"):
    return Span(name, category, 0, begin, begin + seconds)


def access(rank, begin, seconds, *spans, counts=(), process=None, **args):
    """Returns an access, by default a write of one MiB in one piece; times in `counts` are seconds."""
    counted = {
        name: int(value * 1e9) if name.endswith("_time") else value for name, value in dict(counts).items()
    }
    args = {
        "file": 0, "direction": "write", "asked": MIB, "moved": MIB, "hull": [rank * MIB, (rank + 1) * MIB],
        "pieces": 1, "memory_pieces": 1, **args, "counts": counted,
    }  # fmt: skip
    return Access(rank, 0, begin, begin + seconds, args, rank if process is None else process, list(spans))


def file(*accesses, path="/scratch/out.h5", ranks=2, kind="UFS:", number=0, dropped=0, calls=()):
    """Returns a file with these accesses; `calls` are tuples of routine, process, begin and seconds."""
    for one in accesses:
        one.args["file"] = number
    nodes = [{"name": "here", "clock_ahead_ns": 0, "within_ns": 0}]
    hints = {"romio_filesystem_type": kind, "cb_nodes": "2", "cb_buffer_size": "16777216"}
    args = {"path": path, "ranks": ranks, "placement": [[0, ranks]], "nodes": nodes, "hints": hints}
    called = [Call(name, process, begin, begin + seconds) for name, process, begin, seconds in calls]
    return File(number, args, list(accesses), dropped, calls=called)


def run(*files, **more):
    return Run(list(files), **{"cores": 16, "machine": "here", **more})


def collective(calls, ranks=2, seconds=0.1, **args):
    """Returns this many collective accesses of all ranks, one after another."""
    return [
        access(rank, 1.0 * call, seconds, collective=call, method="two_phase", **args)
        for call in range(calls)
        for rank in range(ranks)
    ]


def planned(method, why, *candidates, path="/s/a.dat", facts=()):
    """Returns the explanation of one collective write."""
    weighed = [Candidate(*one) for one in candidates]
    decision = Decision(path, True, "write", method, why, 1, facts=dict(facts), candidates=weighed)
    return Explained(decisions=[decision])
