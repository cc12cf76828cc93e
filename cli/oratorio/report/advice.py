# SPDX-License-Identifier: BSD-3-Clause
"""Advice that would make a run faster, derived from its recording. docs/user/symptoms.md says the same in
prose.

A rule looks at a run and returns at most one piece of advice: what it sees and what to try. The rules that
also work with a Darshan log are in access_rules.py. Advice that concerns the most time comes first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from oratorio.quantity import amount, counted
from oratorio.report import access_rules
from oratorio.report.access_facts import facts_of_run
from oratorio.report.facts import (
    Group,
    Limit,
    Limits,
    Run,
    Spent,
    calls_of,
    file_system_of,
    groups_of,
    late_seconds,
    library_name,
    median,
    spent_of,
)
from oratorio.report.finding import LARGE, MANY_CALLS, NOTED, SMALL_PIECE, Advice
from oratorio.trace.trace import File

WASTE = 2.0  # reads that load more bytes than this for each requested byte are reported
LEAST = 0.02
# Phrases that are searched for in the output of ORATORIO_EXPLAIN.
ASKED_BY_NAME = "requested by name"
BESIDE = "a helper thread makes them progress"
NEAR_LIMIT = 0.7


def _name(file: File) -> str:
    return file.path.rpartition("/")[2]


def _groups(run: Run) -> list[tuple[File, Group]]:
    return [(file, group) for file in run.files for group in groups_of(file)]


def _all_spent(run: Run) -> Spent:
    return sum(run.processes.values(), Spent())


def errors(run: Run) -> Advice | None:
    """Reports accesses that failed."""
    failed = [access for file in run.files for access in file.accesses if access.args.get("error")]
    if not failed:
        return None
    first = failed[0].args["error"]
    told = f"{counted(len(failed), 'access')} failed; the first: {first}"
    return Advice(
        "errors",
        told,
        "Fix the errors first: times of failed accesses mean nothing.",
        "user/failing-disks.md",
        1e9,
    )


def misspelt(run: Run) -> Advice | None:
    """Reports hints and variables that have no effect."""
    told = [line for line in run.explained.remarks if "did you mean" in line or "is ignored" in line]
    if not told:
        return None
    return Advice("misspelt", told[0], "Correct it: as written, it has no effect.", "user/hints.md", 1e8)


def small_pieces(run: Run) -> Advice | None:
    """Reports collective accesses that list_io did in small pieces although the ranks interleave."""
    for file, group in _groups(run):
        if group.method != "list_io" or not group.is_collective or group.piece_bytes >= SMALL_PIECE:
            continue
        if group.pieces < MANY_CALLS or not any(_interleave(call) for call in calls_of(group)):
            continue
        spent = spent_of(group.accesses)
        if spent.storage < LARGE * spent.total:
            continue
        return Advice(
            "small_pieces",
            f"{_name(file)}: list_io makes a storage call for each piece of "
            f"{amount(group.piece_bytes)}, and the ranks' pieces interleave.",
            f"Try the hint romio_cb_{group.direction}=enable.",
            "user/methods.md",
            spent.storage,
        )
    return None


def _interleave(call: Sequence) -> bool:
    hulls = sorted(access.args["hull"] for access in call if access.args["asked"])
    return any(hulls[i][0] < hulls[i - 1][1] for i in range(1, len(hulls)))


def loads_too_much(run: Run) -> Advice | None:
    """Reports reads that load much more than was requested, because the holes between the pieces are loaded,
    too."""
    found = [(f, g) for f, g in _groups(run) if g.direction == "read" and g.moved
             and g.sum("bytes_loaded") > WASTE * g.moved]  # fmt: skip
    if not found:
        return None
    file, group = max(found, key=lambda one: one[1].sum("bytes_loaded"))
    own = "the hint romio_ds_read=disable"
    hints = f"{own} together with romio_cb_read=disable" if group.is_collective else own
    return Advice(
        "loads_too_much",
        f"{_name(file)}: {amount(group.sum('bytes_loaded'))} were read from the storage for "
        f"{amount(group.moved)} that the program requested, because the holes are read, too.",
        f"Try {hints}: each rank then reads only its own pieces.",
        "user/hints.md",
        spent_of(group.accesses).storage,
    )


def fills_holes(run: Run) -> Advice | None:
    """Reports writes that read first, to preserve what is in the holes."""
    found = [(f, g) for f, g in _groups(run) if g.direction == "write" and g.sum("hole_reads")
             and g.sum("bytes_loaded") > NOTED * g.moved]  # fmt: skip
    if not found:
        return None
    file, group = max(found, key=lambda one: one[1].sum("bytes_loaded"))
    return Advice(
        "fills_holes",
        f"{_name(file)}: writes leave holes, so {amount(group.sum('bytes_loaded'))} were read first "
        "to preserve their contents.",
        "Let the ranks together write ranges without holes, or try romio_ds_write=disable and "
        "romio_cb_write=disable.",
        "user/hints.md",
        spent_of(group.accesses).total,
    )


def few_targets(run: Run) -> Advice | None:
    """Reports new files on Lustre or BeeGFS with too few storage targets."""
    writing: dict[str, float] = defaultdict(float)
    for file, group in _groups(run):
        if group.direction == "write":
            writing[file.path] += spent_of(group.accesses).storage
    found = {said.path: said for said in run.explained.striping}
    if not found:
        return None
    said = max(found.values(), key=lambda one: writing[one.path])
    hint = f'"striping_factor", "{said.proposed}"'
    return Advice(
        "few_targets",
        f"{said.path.rpartition('/')[2]}: {amount(said.bytes)} of a new file are on "
        f"{said.targets} storage target{'s' * (said.targets > 1)}.",
        f"Give new files {said.proposed} targets: by the hint striping_factor, by the folder's layout, "
        "or on Lustre by the hint oratorio_striping=auto.",
        "user/network-file-systems.md",
        sum(writing[path] for path in found),
        {
            "shell": f"{said.command} {said.path.rpartition('/')[0] or '.'}",
            "C": f"MPI_Info_set(info, {hint});  // before MPI_File_open makes the file",
            "h5py": f"info = MPI.Info.Create(); info.Set({hint}); "
            'h5py.File(name, "w", driver="mpio", comm=world, info=info)',
            "netCDF": "nc_create_par(name, NC_NETCDF4, world, info, &file); with the same info",
        },
    )


def late_ranks(run: Run) -> Advice | None:
    """Reports ranks that enter collective calls at different times: an imbalance of the program itself."""
    late, seconds, share = None, 0.0, 0.0
    for file, group in _groups(run):
        for call in calls_of(group):
            if not call[0].args.get("started") and len(call) > 1:
                behind = late_seconds(call)
                seconds += behind
                share += max(access.seconds for access in call)
                if late is None or behind > late[0]:
                    late = (behind, file, max(call, key=lambda access: access.begin))
    if late is None or seconds < LARGE * share:
        return None
    behind, file, last = late
    return Advice(
        "late_ranks",
        f"{_name(file)}: ranks enter collective calls at different times, together "
        f"{1e3 * seconds:.1f} ms; once "
        f"rank {last.rank} entered {1e3 * behind:.1f} ms after the first.",
        "The others wait for the last rank: look at what the program does before the call. Storage can't "
        "make this faster.",
        "user/trace.md",
        seconds * max(1, run.ranks - 1),
    )


def first_access(run: Run) -> Advice | None:
    """Reports a first collective access to a file that takes much longer than the later accesses, and how
    often the file was opened."""
    opens: dict[str, int] = defaultdict(int)
    for file in run.files:
        opens[file.path] += 1
    for file, group in _groups(run):
        calls = [max(access.seconds for access in call) for call in calls_of(group)]
        if len(calls) < 3:
            continue
        others = median(calls[1:])
        if calls[0] > 3 * others and calls[0] - others > NOTED * run.io_seconds:
            again = f", and it was opened {opens[file.path]} times" if opens[file.path] > 1 else ""
            return Advice(
                "first_access",
                f"{_name(file)}: the first {group.name} took {1e3 * calls[0]:.1f} ms, the others "
                f"{1e3 * others:.1f} ms{again}.",
                "Shared memory and plans are made once per open file: keep the file open for all steps.",
                seconds=(calls[0] - others) * file.ranks,
            )
    return None


def asked_by_name(run: Run) -> Advice | None:
    """Reports a method that was requested by name but is estimated to be slower than one that auto may
    take."""
    for decision in run.explained.decisions:
        taken = decision.candidate(decision.method)
        free = [one for one in decision.candidates if one.milliseconds and not one.reason]
        if decision.why != ASKED_BY_NAME or not (taken and taken.milliseconds and free):
            continue
        least = min(free, key=lambda one: one.milliseconds)
        if taken.milliseconds > 1.5 * least.milliseconds:
            return Advice(
                "asked_by_name",
                f"{decision.path.rpartition('/')[2]}: {decision.method} was requested; {least.name} is "
                f"estimated to take {least.milliseconds:.3f} instead of {taken.milliseconds:.3f} ms.",
                "Leave the method to auto, or compare them: oratorio compare.",
                "user/methods.md",
                _all_spent(run).total * NOTED,
            )
    return None


def network_writes(run: Run) -> Advice | None:
    """Reports independent writes through a file system client that has a cache of its own."""
    for file, group in _groups(run):
        mount = file_system_of(file)
        apart = library_name(file) == "NFS" or (mount is not None and not mount.is_coherent)
        if apart and not group.is_collective and group.direction == "write" and group.calls >= MANY_CALLS:
            return Advice(
                "network_writes",
                f"{_name(file)}: independent writes to {mount.kind if mount else 'NFS'} lock whole "
                f"pages, because each client has its own cache.",
                "Write collectively.",
                "user/network-file-systems.md",
                spent_of(group.accesses).storage,
            )
    return None


def not_beside(run: Run) -> Advice | None:
    """Reports nonblocking accesses that no progress thread advances."""
    for line in run.explained.remarks:
        if "nonblocking and split accesses:" in line and BESIDE not in line:
            return Advice(
                "not_beside",
                line.rpartition("/")[2],
                "Start MPI with MPI_THREAD_MULTIPLE, or try the hint oratorio_progress=thread.",
                "user/hints.md",
                _all_spent(run).total * NOTED,
            )
    return None


def crowded(run: Run) -> Advice | None:
    """Reports nodes with more ranks than cores."""
    if run.ranks_per_node <= run.cores:
        return None
    return Advice(
        "crowded",
        f"{run.ranks_per_node} ranks of a node share {counted(run.cores, 'core')}.",
        "Part of the waiting is for a core. Judge the figures by runs with the number of ranks used "
        "in production.",
        "research/benchmarks.md",
        _all_spent(run).waiting * NOTED,
    )


RULES: tuple[Callable[[Run], Advice | None], ...] = (
    errors, misspelt, small_pieces, loads_too_much, fills_holes, few_targets, late_ranks, first_access,
    asked_by_name, network_writes, not_beside, crowded,
)  # fmt: skip


def _not_calibrated(one: Limits) -> Advice:
    return Advice(
        "not_calibrated",
        f"auto uses built-in costs: none were measured for {one.file_system} here.",
        "Run oratorio calibrate --dir FOLDER once, with a folder on that file system.",
        "user/calibrate.md",
    )


def _at_the_limit(one: Limits, limit: Limit) -> Advice:
    return Advice(
        "at_the_limit",
        f"{one.file_system}: data was {limit.what} at {100 * limit.share:.0f} % of the rate that calibrate "
        "measured.",
        "Only fewer bytes or a faster file system would make this faster.",
        "user/calibrate.md",
        limit.seconds,
    )


def of_limits(found: Sequence[Limits]) -> list[Advice]:
    """Reports missing calibration, and storage that runs close to its measured limit."""
    near = [
        _at_the_limit(one, limit)
        for one in found
        for limit in one.limits
        if limit.share > NEAR_LIMIT and "storage" in limit.what
    ]
    return near + [_not_calibrated(one) for one in found if not one.source]


def advise(run: Run, limits: Sequence[Limits] = ()) -> list[Advice]:
    """Returns all advice, largest time first. A rule's advice about less than the share LEAST of the total
    time is dropped."""
    least = LEAST * _all_spent(run).total
    job = facts_of_run(run)
    said = [*(rule(run) for rule in RULES), *(rule(job) for rule in access_rules.RULES)]
    found = [advice for advice in said if advice and advice.seconds >= least]
    return sorted(found + of_limits(limits), key=lambda advice: -advice.seconds)
