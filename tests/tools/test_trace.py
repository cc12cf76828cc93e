# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio trace`: tables of a trace, and one clear error if it is incomplete."""

import json
from pathlib import Path

import pytest

from oratorio import command_line
from oratorio.trace import table, trace

LAYOUT = {
    "displacement": 0,
    "extent": 16,
    "tiles": None,
    "tile_bytes": 8,
    "pieces": 1,
    "first": 0,
    "block": 8,
    "levels": [],
}


def access(rank, number, begin, seconds, **args):
    """Returns the event of an access that wrote one MiB."""
    args = {
        "file": 0, "rank": rank, "access": number, "direction": "write", "asked": 1 << 20, "moved": 1 << 20,
        "hull": [0, 2 << 20], "pieces": 1, "memory_pieces": 1, "from": 0, "view": LAYOUT, "memory": LAYOUT,
        "counts": {"storage_calls": 2, "messages_sent": 3}, **args,
    }  # fmt: skip
    kind = "collective" if "collective" in args else "independent"
    return event("access", f"{kind} {args['direction']}", rank, begin, seconds, args)


def event(category, name, rank, begin, seconds, args):
    times = {"ts": 1e6 * begin, "dur": 1e6 * seconds}
    return {"ph": "X", "cat": category, "name": name, "pid": rank, "tid": 0, **times, "args": args}


def span(rank, number, name, begin, seconds, category="phase", **args):
    return event(category, name, rank, begin, seconds, {"file": 0, "access": number, **args})


def whole(events, **counts):
    kinds = [one["cat"] for one in events]
    accesses = kinds.count("access")
    spans = sum(kind in trace.SPANS for kind in kinds)
    said = {"accesses": accesses, "spans": spans, "dropped_accesses": 0, "dropped_spans": 0}
    said["calls"] = kinds.count("call")
    names = {"file": 0, "path": "/scratch/out.h5", "ranks": 2, "placement": [[0, 2]]}
    nodes = [{"name": "here", "clock_ahead_ns": 0, "within_ns": 0}]
    first = {"ph": "M", "pid": 0, "name": "oratorio_file", "args": {**names, "nodes": nodes, "hints": {}}}
    last = {"ph": "M", "pid": 0, "name": "oratorio_end", "args": {"file": 0, **said, **counts}}
    head = {"displayTimeUnit": "ns", "oratorio": {"version": 1, "began": 0}}
    return {**head, "traceEvents": [first, *events, last]}


def two_ranks():
    """Returns a trace with one collective write of both ranks, then three independent writes of one rank."""
    events = []
    for rank in (0, 1):
        args = {"collective": 0, "method": "two_phase", "aggregators": 1, "rounds": 4}
        events.append(access(rank, 0, 1.0 + 0.01 * rank, 0.5, **args))
        events.append(span(rank, 0, "planning", 1.0 + 0.01 * rank, 0.1))
        events.append(span(rank, 0, "working", 1.1 + 0.01 * rank, 0.3 + 0.05 * rank))
    events.append(span(0, 0, "storage", 1.2, 0.05, "detail"))
    events.append(span(0, 0, "storage", 1.3, 0.05, "detail", joined=7))
    events += [access(1, 1 + i, 2.0 + i, 0.25) for i in range(3)]
    return whole(events)


@pytest.fixture
def written(tmp_path):
    def write(content) -> Path:
        path = tmp_path / "trace.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def test_a_collective_access_is_one_row_of_all_ranks(written):
    (file,) = trace.read(written(two_ranks()))
    collective, independent = table.rows_of(file)
    assert collective.name == "collective write 0"
    assert collective.calls == 1
    assert collective.moved == 2 << 20
    assert collective.seconds == pytest.approx(0.51)
    assert collective.most("working") == pytest.approx(0.35)
    assert collective.most("storage") == pytest.approx(0.1)
    assert collective.sum("storage_calls") == 4
    assert independent.name == "independent write"
    assert (independent.calls, independent.moved) == (3, 3 << 20)


def test_cells_and_heads_belong_together(written):
    (file,) = trace.read(written(two_ranks()))
    rows = table.rows_of(file)
    heads = table.heads_of(rows)
    for row in rows:
        assert len(table.cells_of(row, table.columns_of(rows))) == len(heads)
    first = dict(zip(heads, table.cells_of(rows[0], table.columns_of(rows)), strict=True))
    assert first["method"] == "two_phase"
    assert first["MiB"] == "2.000"
    assert first["ms"] == "510.000"
    assert first["MiB/s"] == "4"
    assert first["working"] == "350.000"
    assert first["messages"] == "6"
    assert "extending" not in heads, "no row has that"


@pytest.fixture
def show(capsys):
    """Returns show(word...), which runs `oratorio trace` and returns its exit code, output and errors."""

    def run(*words) -> tuple[int, str, str]:
        code = command_line.call(["trace", *map(str, words)])
        return code, *capsys.readouterr()

    return run


def test_the_command_prints_a_table_and_a_page(written, show):
    path = written(two_ranks())
    code, shown, _ = show(path)
    assert code == 0
    for text in ("/scratch/out.h5: 2 ranks on 1 node,", "collective write 0", "two_phase", "at once"):
        assert text in shown
    _, page, _ = show(path, "--markdown")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert len({line.count("|") for line in rows}) == 1


def test_dropped_records_are_reported(written):
    (file,) = trace.read(written(whole([access(0, 0, 1, 1)], dropped_accesses=5, dropped_spans=9)))
    assert "5 accesses and 9 spans did not fit into the trace" in table.title_of(file)


def call(rank, name, begin, seconds):
    return event("call", name, rank, begin, seconds, {"file": 0, "rank": rank})


def test_calls_that_move_no_data_are_summed_for_each_rank(written, show):
    calls = [call(0, "close", 3, 0.5), call(0, "open", 0, 0.25), call(1, "open", 0, 0.125)]
    path = written(
        whole([access(0, 0, 1, 1), *calls, call(0, "set_view", 1, 0.01), call(0, "set_view", 2, 0.01)])
    )
    (file,) = trace.read(path)
    spent = trace.call_seconds([file])
    assert list(spent) == ["open", "close", "set_view"]
    assert spent["open"] == {0: 0.25, 1: 0.125}
    assert spent["set_view"] == pytest.approx({0: 0.02})
    assert not file.accesses[0].spans, "calls are no parts of accesses"
    assert ", open 250.000 ms, close 500.000 ms, set_view 20.000 ms" in table.title_of(file)
    _, document, _ = show(path, "--json")
    assert json.loads(document)["files"][0]["call_seconds"]["open"] == 0.25


def test_events_of_unknown_categories_are_ignored(written):
    (file,) = trace.read(written(whole([access(0, 0, 1, 1), event("later", "new", 0, 1, 1, {})])))
    assert len(file.accesses) == 1


def test_a_trace_without_calls_is_read(written):
    content = two_ranks()
    del content["traceEvents"][-1]["args"]["calls"]
    (file,) = trace.read(written(content))
    assert trace.call_seconds([file]) == {}


def test_dropped_calls_are_reported(written):
    (file,) = trace.read(written(whole([access(0, 0, 1, 1)], dropped_calls=5)))
    assert "5 calls such as set_view did not fit" in table.title_of(file)


def without(category, name, value=None):
    """Returns a trace in which the first event of a category lacks a member, or has another value of it."""
    made = two_ranks()
    args = next(event["args"] for event in made["traceEvents"] if event.get("cat") == category)
    del args[name]
    if value is not None:
        args[name] = value
    return made


def cut(text):
    return text[: len(text) * 2 // 3]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("thesis", "is not a trace of Oratorio"),
        ("[]", "is not a trace of Oratorio"),
        ('{"traceEvents": []}', "is not a trace of Oratorio"),
        (cut(json.dumps(two_ranks())), "ends early"),
        ({**two_ranks(), "oratorio": {"version": 2}}, "has version 2"),
        (whole([access(0, 0, 1, 1)], accesses=2), "1 access instead of 2"),
        (whole([access(0, 0, 1, 1)], spans=1), "0 spans instead of 1"),
        (whole([access(0, 0, 1, 1)], calls=1), "0 calls instead of 1"),
        (whole([span(0, 0, "working", 1, 1)]), "differs from the format in docs/user/trace.md"),
        ({**two_ranks(), "traceEvents": two_ranks()["traceEvents"][:-1]}, "out.h5 is missing"),
        ({**two_ranks(), "traceEvents": two_ranks()["traceEvents"][1:]}, "differs from the format"),
        ({**two_ranks(), "traceEvents": [1]}, "differs from the format in docs/user/trace.md"),
        (whole([access(0, 0, 1, 1, moved="all")]), "differs from the format in docs/user/trace.md"),
        (without("access", "moved"), "moved is missing"),
        (without("access", "counts"), "counts is missing"),
        (without(None, "hints", []), "hints is []"),
        ("[" * 100_000, "is not a trace of Oratorio"),
    ],
)  # fmt: skip
def test_an_incomplete_trace_is_one_clear_error(written, show, content, said):
    path = written(content)
    code, _, complaint = show(path)
    assert code == 2
    assert complaint.count("\n") == 1
    assert complaint.startswith(f"oratorio: {path}")
    assert said in complaint


def test_a_missing_file_is_an_error(tmp_path, show):
    code, _, complaint = show(tmp_path / "none")
    assert code == 2
    assert "No such file" in complaint


def test_a_file_is_chosen_by_its_name(written, show):
    path = written(two_ranks())
    assert show(path, "--file", "out.h5")[0] == 0
    code, _, complaint = show(path, "--file", "other")
    assert code == 2
    assert "no file whose path contains 'other'" in complaint


def test_a_picture_is_drawn(written, show, tmp_path):
    out = tmp_path / "trace.png"
    assert show(written(two_ranks()), "--plot", out)[0] == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    code, _, complaint = show(written(whole([])), "--plot", out)
    assert code == 2
    assert "no access to draw" in complaint


@pytest.mark.parametrize(("name", "said"), [("no/such/x.png", "choose another path"), ("x.foo", "supported")])
def test_a_picture_that_cannot_be_written_is_one_clear_error(written, show, tmp_path, name, said):
    code, shown, complaint = show(written(two_ranks()), "--plot", tmp_path / name)
    assert (code, shown) == (2, "")
    assert complaint.count("\n") == 1 and said in complaint
