# SPDX-License-Identifier: BSD-3-Clause
"""The page about one run (docs/user/report.md). The demo has its own page in
lab/oratorio_lab/demo/page.py."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from oratorio.quantity import amount, counted
from oratorio.report.advice import advise
from oratorio.report.compared import Method
from oratorio.report.explained import Decision
from oratorio.report.facts import (
    PARTS,
    Group,
    Limits,
    Run,
    alike,
    file_system_of,
    groups_of,
    library_name,
    likeness,
    limits_of,
    median,
    spent_of,
)
from oratorio.report.finding import Advice
from oratorio.report.html_page import bar, facts, legend, page, stack, table, text
from oratorio.report.html_page import write as write_page
from oratorio.report.outcome import why_nothing
from oratorio.report.waits import busy_seconds, rates_of, waited_for
from oratorio.trace.trace import call_seconds

MIB = 1 << 20
BARS_MOST = 64  # ranks that are drawn; the page states how many are not
FILES_MOST = 20
WAITED_MOST = 10  # ranks that others waited for longest
DECISIONS_MOST = 40
SPANS_MOST = 400  # spans of one colour that are closer than 1 / SPANS_MOST of a line's width are joined
MEANS = {
    "storage": "storage: calls, and waits for them",
    "copying": "copying between memory, buffers and messages",
    "waiting": "waiting for other ranks or their storage",
    "planning": "planning: exchanging summaries and making the plan",
    "rest": "the rest: messages, agreement and everything else",
}
DOCTOR = "`oratorio doctor` followed by the command finds the cause."


def seconds_text(seconds: float) -> str:
    """Formats seconds for people."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.1f} ms" if seconds >= 1e-4 else f"{1e6 * seconds:.0f} µs"


def rate_text(count: float, seconds: float) -> str:
    return f"{count / MIB / seconds:.0f}" if seconds > 0 else ""


def _head(run: Run) -> str:
    began = (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.began)) if run.began else "at an unknown time"
    )
    command = f'<div class="code">{text(run.command)}</div>' if run.command else ""
    lines = [
        f"<h1>Oratorio: report of a run</h1>{command}",
        f'<p class="soft">{text(began)}, on {text(run.machine)}.',
    ]
    if run.program:
        lines.append(f" The program: {text(run.program)}.")
    lines.append("</p>")
    if run.exit_code:
        lines.append(
            f'<p class="bad">The command ended with {run.exit_code}: the data below may be incomplete.</p>'
        )
    if run.dropped:
        lines.append(
            f'<p class="bad">{counted(run.dropped, "more access")} did not fit into the recording: '
            "times and counts below exclude them.</p>"
        )
    return "".join(lines)


def _figures(run: Run) -> str:
    of_wall = f"{100 * run.io_seconds / run.wall_seconds:.0f} %" if run.wall_seconds else ""
    names = dict.fromkeys(library_name(file) for file in run.files)
    kinds = dict.fromkeys(mount.kind for file in run.files if (mount := file_system_of(file)))
    busy = busy_seconds(one for file in run.files for one in (*file.accesses, *file.calls))
    is_whole = run.wall_seconds and not run.dropped and not run.dropped_calls
    outside = "outside of MPI-IO" if run.call_seconds else "outside of accesses"
    rates = [
        (f"{direction} rate", f"{rate_text(rate.bytes, rate.seconds)} MiB/s")
        for direction, rate in rates_of(run).items()
    ]
    return facts([
        ("ranks", f"{run.ranks} on {counted(run.nodes, 'node')}"),
        ("in accesses, slowest rank", seconds_text(run.io_seconds)),
        *((f"in {name}, slowest rank", seconds_text(max(run.call_seconds[name].values())))
          for name in ("open", "close") if name in run.call_seconds),
        ("the command took", seconds_text(run.wall_seconds) if run.wall_seconds else ""),
        ("accesses' share of the command's time", of_wall),
        (outside, seconds_text(max(0.0, run.wall_seconds - busy)) if is_whole else ""),
        ("moved", amount(run.moved)),
        *rates,
        ("accesses", str(run.accesses)),
        ("files", str(len({file.location for file in run.files}))),
        ("file system", ", ".join(kinds or names)),
        ("cores of this machine", str(run.cores)),
        ("Oratorio", run.version),
    ])  # fmt: skip


def _advice(found: Sequence[Advice]) -> str:
    if not found:
        return "<h2>What would make it faster</h2><p>Nothing stands out.</p>"
    items = "".join(
        f"<li><b>{text(one.sees)}</b>{text(one.tries)} <span class=soft>docs/{text(one.page)}</span>"
        + "".join(f"<br>{text(name)}: <code>{text(line)}</code>" for name, line in one.changes.items())
        for one in found
    )
    return f'<h2>What would make it faster</h2><ul class="advice">{items}</ul>'


def _spread(name: str, by_process: dict[int, float]) -> list[str]:
    """Returns the cells of a row: the least, median and most seconds of a rank, and the rank with most."""
    most = max(by_process, key=by_process.__getitem__)
    cells = (min(by_process.values()), median(by_process.values()), by_process[most])
    return [name, *map(seconds_text, cells), f"rank {most}"]


def _calls(run: Run) -> str:
    """Returns the table of the calls that move no data."""
    if not run.call_seconds:
        return ""
    rows = [_spread(name, spent) for name, spent in run.call_seconds.items()]
    note = f'<p class="soft">{counted(run.dropped_calls, "more call")} did not fit into the recording.</p>'
    return table(["time in other calls", "least", "median", "most", "rank with most"], rows) + (
        note if run.dropped_calls else ""
    )


def _spending(run: Run) -> str:
    by_process = run.processes
    whole = max((spent.total for spent in by_process.values()), default=0.0)
    shown = sorted(by_process, key=lambda process: -by_process[process].total)[:BARS_MOST]
    lines = [
        stack(f"rank {process}", [(part, getattr(by_process[process], part)) for part in PARTS], whole,
              seconds_text(by_process[process].total))
        for process in sorted(shown)
    ]  # fmt: skip
    more = len(by_process) - len(shown)
    note = f'<p class="soft">Not shown: {counted(more, "rank")} with less time.</p>' if more > 0 else ""
    rows = [
        _spread(part, {process: getattr(spent, part) for process, spent in by_process.items()})
        for part in (*PARTS, "total")
    ]
    opens = (
        "The times of open, close and other calls that move no data are in a table of their own."
        if run.call_seconds
        else "This recording has no times of opening and closing files: they are part of the time outside of "
        "accesses."
    )
    spread = table(["time in accesses", "least", "median", "most", "rank with most"], rows)
    return (
        "<h2>Where the time went</h2><p>Totals of all accesses of each rank of MPI_COMM_WORLD. A "
        "nonblocking access counts only the time spent working on it. " + opens + " The launcher's start and "
        "the program's own work count in neither. A rate is the bytes moved by all ranks, divided by the "
        "time during which at least one rank was in an access of that direction.</p>"
        + legend([(part, MEANS[part]) for part in PARTS]) + "".join(lines) + note + spread
        + _calls(run)
    )  # fmt: skip


def _waits(run: Run) -> str:
    found = waited_for(run)
    if not found:
        return ""
    rows = [
        [f"rank {one.rank}", str(one.late_calls or ""), seconds_text(one.late_seconds),
         seconds_text(one.busy_seconds), seconds_text(one.seconds)]
        for one in found[:WAITED_MOST]
    ]  # fmt: skip
    heads = ["waited for", "calls it entered last", "until it entered", "while it worked", "together"]
    more = len(found) - WAITED_MOST
    note = f'<p class="soft">{counted(more, "more rank")}, for less time.</p>' if more > 0 else ""
    return (
        "<h2>Ranks that others waited for</h2><p>In blocking collective calls; times are sums over the ranks "
        "that waited. Work is storing, loading and copying data; the idle time of the others is "
        "divided among the ranks that worked, in proportion to their work. Waits until a rank entered come "
        "from the program, not from the storage.</p>" + table(heads, rows) + note
    )


def _when(run: Run) -> str:
    """Draws the accesses of each rank over time, from the start of the run's first access to the end of its
    last."""
    accesses = sorted((a for file in run.files for a in file.accesses), key=lambda a: a.begin)
    if not accesses:
        return ""
    begin, end = accesses[0].begin, max(access.end for access in accesses)
    width = max(end - begin, 1e-9)
    lines = []
    processes = sorted({access.process for access in accesses})
    for process in processes[:BARS_MOST]:
        spans: list[tuple[str, float, float, str]] = []
        for access in (one for one in accesses if one.process == process):
            color = access.args["direction"]
            left, right = (access.begin - begin) / width, (access.end - begin) / width
            if spans and spans[-1][0] == color and left - spans[-1][2] < 1 / SPANS_MOST:
                spans[-1] = (color, spans[-1][1], max(right, spans[-1][2]), f"{color}s")
            else:
                spans.append((color, left, right, f"{color}, {seconds_text(access.seconds)}"))
        lines.append(bar(f"rank {process}", spans, ""))
    return (
        f"<h2>When</h2><p>From the beginning of the first access to the end of the last: "
        f"{seconds_text(width)}.</p>"
        + legend([("write", "writes"), ("read", "reads")]) + "".join(lines)
    )  # fmt: skip


def _row(group: Group) -> list[str]:
    spent = spent_of(group.accesses)
    whole = spent.total or 1.0
    shares = [f"{100 * part / whole:.0f} %" for part in (spent.storage, spent.copying, spent.waiting)]
    return [
        group.name, group.method, str(group.calls), amount(group.moved), str(group.pieces),
        amount(group.piece_bytes), str(group.rounds or ""), seconds_text(group.seconds),
        rate_text(group.moved, group.seconds), *shares,
    ]  # fmt: skip


HINTS = ("cb_nodes", "cb_buffer_size")  # hints that the page shows, because they describe the aggregators
HEADS = (
    "access", "method", "calls", "moved", "pieces", "mean piece", "rounds", "time", "MiB/s", "storage",
    "copying", "waiting",
)  # fmt: skip


def _files(run: Run) -> str:
    weighed = alike(run.files)
    parts = []
    for some in weighed[:FILES_MOST]:
        first, paths = some[0], {file.location for file in some}
        mount = file_system_of(first)
        where = f"{mount.kind} on {mount.folder}" if mount else library_name(first)
        hints = ", ".join(f"{key} {first.args['hints'][key]}" for key in HINTS if key in first.args["hints"])
        more = f" and {len(paths) - 1} whose paths differ only in numbers" if len(paths) > 1 else ""
        opened = f", opened {len(some)} times" if len(some) > len(paths) else ""
        for name, spent in call_seconds(some).items():
            opened += f", {name} {seconds_text(max(spent.values()))}"
        parts.append(
            f"<h3>{text(first.path)}{more}</h3><p class=soft>{counted(first.ranks, 'rank')} on "
            f"{counted(first.nodes, 'node')}{opened}; {text(where)}; {text(hints)}</p>"
            + table(HEADS, [_row(group) for group in groups_of(*some)], left=2)
        )
    if len(weighed) > FILES_MOST:
        rest = [file for some in weighed[FILES_MOST:] for file in some]
        moved = amount(sum(access.args["moved"] for file in rest for access in file.accesses))
        opens = counted(len(rest), "open")
        parts.append(f"<p>Not shown: {opens} of other files, which took less time and moved {moved}.</p>")
    return (
        "<h2>Files</h2><p>One row for similar accesses. Calls and time are the largest of any rank, "
        "bytes and pieces are sums over all ranks, and shares are of the time of all ranks.</p>"
        + "".join(parts)
    )


def _decision(decision: Decision) -> str:
    times = f" {decision.times} times" if decision.times > 1 else ""
    name = decision.path.rpartition("/")[2]
    lines = f"<summary>{text(name)}: {text(decision.access)}{times}: <code>{text(decision.method)}</code>, "
    lines += f"{text(decision.why)}</summary>"
    if decision.facts:
        lines += table(["", ""], [list(pair) for pair in decision.facts.items()], left=2, words=(1,))
    if decision.candidates:
        known = sorted(decision.candidates, key=lambda one: (one.milliseconds is None, one.milliseconds or 0))
        rows = [
            [one.name, "" if one.milliseconds is None else f"{one.milliseconds:.3f}", one.reason]
            for one in known
        ]
        best = [i for i, one in enumerate(known) if one.name == decision.method]
        lines += table(["method", "estimated ms", "why not"], rows, words=(2,), best=best)
    return f"<details>{lines}</details>"


def _why(run: Run) -> str:
    known: dict[tuple[str, str, str, str], Decision] = {}
    for decision in run.explained.decisions:
        key = (likeness(decision.path), decision.access, decision.method, decision.why)
        if key in known:
            known[key].times += decision.times
        else:
            # A copy, because adding up `times` must not change the run's own decisions.
            known[key] = replace(decision)
    if not known:
        return (
            "<h2>Methods and why</h2><p>No explanations were recorded: <code>oratorio run "
            "--report</code> records them, or "
            "ORATORIO_EXPLAIN=FILE.json and then <code>oratorio report TRACE --explain FILE.json</code>.</p>"
        )
    shown = list(known.values())[:DECISIONS_MOST]
    more = len(known) - len(shown)
    note = f"<p>Not shown: {more} more.</p>" if more else ""
    return "<h2>Methods and why</h2>" + "".join(map(_decision, shown)) + note


def _compared_row(one: Method, host: Method | None) -> list[str]:
    """Returns the cells of a method's row in a comparison."""
    if not one.walls:
        return [one.name, *[""] * 4, one.problem]
    interval = " to ".join(map(seconds_text, one.interval)) if one.interval else ""
    rate = rate_text(one.bytes, one.wall) if one.bytes is not None else ""
    ratio = f"{host.wall / one.wall:.2f} x" if host and one is not host else ""
    unclear = ", no difference" if one.difference == "none" else ""
    return [one.name, str(len(one.walls)), seconds_text(one.wall), interval, rate, ratio + unclear]


def _compared(run: Run) -> str:
    """Returns the section about the host's own MPI-IO."""
    head, compared = "<h2>Compared with the MPI's own MPI-IO</h2>", run.compared
    if compared is None:
        command = f"oratorio compare --method auto --json {run.command or 'COMMAND'} > compared.json"
        return (
            f"{head}<p>This run doesn't show how long the program takes without Oratorio. <code>"
            f"{text(command)}</code> measures it, in turns with Oratorio. The option <code>--compared "
            "compared.json</code> of <code>run --report</code> and <code>report</code> shows the result "
            "here.</p>"
        )
    host = next((one for one in compared.methods if one.name == "host" and one.walls), None)
    rows = [_compared_row(one, host) for one in compared.methods]
    heads = ["method", "runs", "wall clock", "95 % interval", "MiB/s", "as fast as the host"]
    return (
        f"{head}<p>By oratorio compare, with the command <code>{text(compared.command)}</code>. The wall "
        "clock is the median from the launcher's start to its end, and MiB/s are the bytes that the "
        "program's accesses moved, divided by it. The host's accesses are not recorded.</p>"
        + table(heads, rows, words=(5,))
    )


def _limits(found: Sequence[Limits]) -> str:
    parts = []
    for one in found:
        if not one.source:
            parts.append(
                f"<p>{text(one.file_system)}: no costs were measured here. "
                "<code>oratorio calibrate --dir FOLDER</code> measures them in 10 s, with a "
                "folder on that file system; later reports then show a comparison, and "
                "<code>auto</code> uses the measured costs.</p>"
            )
            continue
        rows = [
            [limit.what, f"{limit.measured / MIB:.0f}", f"{limit.calibrated / MIB:.0f}",
             f"{100 * limit.share:.0f} %", seconds_text(limit.seconds)]
            for limit in one.limits
        ]  # fmt: skip
        heads = ["MiB/s of one rank", "this run", "calibrated", "share", "time, all ranks"]
        parts.append(f"<p>{text(one.file_system)}, calibrated in {text(one.source)}</p>" + table(heads, rows))
    return (
        "<h2>Compared with the machine</h2><p>Bandwidth while a rank was storing, loading or "
        "copying, compared with what calibrate measured with large calls. Causes of a small share: "
        "small calls, a busy machine, or a file system that other jobs use, too.</p>" + "".join(parts)
    )


def _remarks(run: Run) -> str:
    lines = [*(f"{key}={value}" for key, value in sorted(run.environment.items())), *run.explained.remarks]
    if not lines:
        return ""
    return "<h2>Settings and remarks</h2><ul>" + "".join(f"<li>{text(line)}" for line in lines) + "</ul>"


def _foot(run: Run) -> str:
    return (
        f"<footer>Made by oratorio report, Oratorio {text(run.version)}. Times include the "
        "overhead of recording; docs/user/trace.md states it.</footer>"
    )


def html_of(run: Run, environ: dict[str, str]) -> str:
    """Returns the whole page."""
    if not run.accesses:
        says, do = why_nothing(run)
        why = f"Nothing was recorded: {says}. What to do: {do}. {DOCTOR}"
        return page("Oratorio: report", _head(run), f"<p>{text(why)}</p>", _remarks(run), _foot(run))
    limits = limits_of(run, environ)
    return page(
        "Oratorio: report", _head(run), _figures(run), _advice(advise(run, limits)), _spending(run),
        _waits(run), _when(run), _files(run), _why(run), _compared(run), _limits(limits),
        _remarks(run), _foot(run),
    )  # fmt: skip


def write(run: Run, out: Path) -> None:
    """Writes the page atomically: whole or not at all. Raises OratorioError."""
    write_page(html_of(run, dict(os.environ)), out)
