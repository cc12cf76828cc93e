# SPDX-License-Identifier: BSD-3-Clause
"""Tests the replay of a trace's accesses: what is replayed, what is refused, and the error messages."""

import base64
import json
from array import array
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from test_trace import access, two_ranks, whole

from oratorio import command_line
from oratorio.trace import trace
from oratorio.trace.trace import TraceError
from oratorio_lab.bench import trace as bench_trace
from oratorio_lab.simulate import schedule
from oratorio_lab.simulate import trace as sim_trace
from oratorio_lab.simulate.machine import SimulateError
from oratorio_lab.trace import accesses

BLOCK, BLOCKS, RANKS = 4096, 1000, 4
RUN = 1  # code of this kind of shape in src/type/shape_codec


def number(value):
    """Encodes a number as the codec does: the sign in bit 0, 7 bits a byte."""
    bits = value << 1 if value >= 0 else -(value << 1) - 1
    out = bytearray()
    while bits >= 0x80:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*out, bits])


def run_shape(size):
    """Returns the shape of one tile of this many bytes."""
    return number(1) + number(0) + number(0) + bytes([RUN]) + number(size)


def shape(place, code, file=0):
    args = {"file": file, "shape": place, "bytes": base64.b64encode(code).decode()}
    return {"ph": "M", "pid": 0, "name": "oratorio_shape", "args": args}


def layout(displacement, extent, tiles, size, place):
    return {
        "displacement": displacement, "extent": extent, "tiles": tiles, "tile_bytes": size, "pieces": 1,
        "shape": place,
    }  # fmt: skip


def write_of(rank, step, direction="write", collective=None, **more):
    """Returns an access to the BLOCKS blocks of a rank in part `step` of the file, which alternate with the
    blocks of the other ranks."""
    asked = BLOCK * BLOCKS
    begin = step * asked * RANKS + rank * BLOCK
    args = {
        "collective": step if collective is None else collective, "direction": direction,
        "method": "two_phase", "asked": asked, "moved": asked, "from": step * asked,
        "hull": [begin, begin + (BLOCKS - 1) * BLOCK * RANKS + BLOCK],
        "view": layout(rank * BLOCK, BLOCK * RANKS, None, BLOCK, 0),
        "memory": layout(0, asked, 1, asked, 1),
    }  # fmt: skip
    return access(rank, step, 1.0 + step, 0.25, **{**args, **more})


def job(steps=3, shapes=(BLOCK, BLOCK * BLOCKS), events=(), **counts):
    """Returns the trace of a program that made these accesses."""
    made = [write_of(rank, step) for step in range(steps) for rank in range(RANKS)]
    content = whole([*made, *events], **counts)
    content["traceEvents"][0]["args"]["ranks"] = RANKS
    content["traceEvents"][0]["args"]["placement"] = [[0, RANKS]]
    content["traceEvents"][1:1] = [shape(place, run_shape(size)) for place, size in enumerate(shapes)]
    return content


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "trace.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def the_file(path):
    (file,) = trace.read(path)
    return file


def test_collective_accesses_are_found_with_all_ranks(written):
    found = accesses.collectives(the_file(written(job())))
    assert [one.number for one in found] == [0, 1, 2]
    assert all(one.direction == "write" and one.bytes == RANKS * BLOCK * BLOCKS for one in found)
    assert [one.begin for one in found] == [step * BLOCK * BLOCKS * RANKS for step in range(3)]
    assert len({one.likeness for one in found}) == 1, "they differ only in where they begin"


def test_accesses_of_other_layouts_are_not_alike(written):
    other = [write_of(rank, 3, memory=layout(8, BLOCK * BLOCKS, 1, BLOCK * BLOCKS, 1)) for rank in range(4)]
    moved = [write_of(rank, 4, hull=[rank * BLOCK + 8 * (rank == 2), 1 << 30]) for rank in range(4)]
    reads = [write_of(rank, 5, direction="read") for rank in range(4)]
    found = accesses.collectives(the_file(written(job(1, events=[*other, *moved, *reads]))))
    assert len({one.likeness for one in found}) == 4


def test_the_file_of_numbers_is_what_the_programs_read(written, tmp_path):
    file = the_file(written(job(2)))
    out = tmp_path / "numbers"
    accesses.write(out, file, accesses.collectives(file)[1:])
    numbers = array("q", out.read_bytes())
    assert out.read_bytes().startswith(b"ORATACC1")
    code = run_shape(BLOCK)
    assert numbers[1:4].tolist() == [RANKS, 2, len(code)]
    assert numbers[4].to_bytes(8, "little") == code + bytes(8 - len(code))
    tail = numbers[-2 - 8 * RANKS :].tolist()
    assert tail[:2] == [1, 0], "one access, a write"
    asked = BLOCK * BLOCKS
    for rank in range(RANKS):
        told = tail[2 + 8 * rank : 10 + 8 * rank]
        assert told == [rank * BLOCK, BLOCK * RANKS, 0, asked, 0, asked, 1, 1]


def test_ranks_without_data_are_written_as_such(written, tmp_path):
    content = job(1)
    for event in content["traceEvents"]:
        if event.get("cat") == "access" and event["args"]["rank"] == 2:
            event["args"] |= {"asked": 0, "moved": 0}
            del event["args"]["view"], event["args"]["hull"]
    file = the_file(written(content))
    accesses.write(tmp_path / "numbers", file, accesses.collectives(file))
    numbers = array("q", (tmp_path / "numbers").read_bytes()).tolist()
    assert numbers[-16:-8] == [0] * 8


def without_shapes(content):
    for event in content["traceEvents"]:
        for side in ("view", "memory"):
            event.get("args", {}).get(side, {}).pop("shape", None)
    return content


def odd(content, **changes):
    """Changes arguments of the first access in a trace."""
    first = next(event for event in content["traceEvents"] if event.get("cat") == "access")
    first["args"] |= changes
    return content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            without_shapes(job()),
            "the layouts of all 3 collective accesses are missing: an older Oratorio",
        ),
        (
            without_shapes(job(dropped_layouts=12)),
            "collective accesses are missing: the trace had no room for their shapes",
        ),
        (job(shapes=(BLOCK,)), "shape 1 of an access is missing in the trace"),
        (whole([access(0, 0, 1, 1)]), "there is no collective access to replay"),
        (odd(job(), view={"shape": 0}), "an access differs from the format in docs/user/trace.md"),
    ],
)
def test_an_unreplayable_trace_is_one_clear_error(written, content, said):
    path = written(content)
    with pytest.raises(TraceError, match=said):
        accesses.collectives(the_file(path))
    for refused in (sim_trace.job_of, bench_trace.job_of):
        with pytest.raises(TraceError, match=said):
            refused(path, None)


def test_a_trace_with_a_damaged_shape_or_an_early_end_is_refused(written):
    content = job()
    content["traceEvents"][1]["args"]["bytes"] = "*"
    with pytest.raises(TraceError, match=r"differs from the format in docs/user/trace.md"):
        bench_trace.job_of(written(content), None)
    text = json.dumps(job())
    with pytest.raises(TraceError, match="ends early"):
        sim_trace.job_of(written(text[: len(text) // 2]), None)
    with pytest.raises(TraceError, match="No such file"):
        bench_trace.job_of(written(job()).parent / "none", None)


def test_values_that_are_no_offsets_are_refused(written, tmp_path):
    for value in (1 << 70, "far", 0.5):
        file = the_file(written(odd(job(), **{"from": value})))
        with pytest.raises(TraceError, match=r"differs from the format in docs/user/trace.md"):
            accesses.write(tmp_path / "numbers", file, accesses.collectives(file))


def test_omissions_are_reported(written):
    incomplete = write_of(0, 3)
    alone = access(1, 4, 9, 0.1)
    file = the_file(written(job(events=[incomplete, alone], dropped_accesses=7)))
    said = accesses.left_out(file, accesses.collectives(file))
    assert said == (
        "not replayed: 1 collective access without data or layout, 1 independent access, "
        "7 accesses that did not fit into the trace"
    )
    assert accesses.left_out(file, accesses.collectives(the_file(written(job(4))))) != ""


def test_another_number_of_ranks_is_refused(written):
    path = written(job())
    with pytest.raises(TraceError, match="has 4 ranks: it can't be simulated with 8"):
        sim_trace.job_of(path, None, [4, 8])
    with pytest.raises(TraceError, match="has 4 ranks: it can't be repeated with 2"):
        bench_trace.job_of(path, None, (2,))
    with pytest.raises(TraceError, match="no file whose path contains 'other'"):
        sim_trace.job_of(path, "other")


def test_accesses_that_are_too_large_together_are_repeated_in_part(written, monkeypatch):
    reads = [write_of(rank, 3, direction="read") for rank in range(RANKS)]
    path = written(job(events=reads))
    monkeypatch.setattr(bench_trace, "MOST", 2 * RANKS * BLOCK * BLOCKS)
    told = bench_trace.job_of(path, None)
    assert [one.number for one in told.accesses] == [0, 1, 3]
    assert "3 of 4 collective accesses are repeated" in told.told
    assert told.directions == {"write", "read"}


def test_bytes_before_the_first_access_are_not_repeated(written):
    content = job(1)
    far = 5 * bench_trace.ALIGNMENT + 100
    for event in content["traceEvents"]:
        if event.get("cat") == "access":
            event["args"]["view"]["displacement"] += far
    told = bench_trace.job_of(written(content), None)
    assert told.shift == 5 * bench_trace.ALIGNMENT


@pytest.fixture
def simulated(capsys):
    """Returns simulated(word...), which runs `oratorio simulate` and returns its exit code and output."""

    def run(*words) -> tuple[int, str]:
        code = command_line.call(["simulate", *map(str, words)])
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


@pytest.fixture
def planner():
    schedule.program()


@pytest.mark.usefixtures("planner")
def test_a_trace_is_planned_like_the_layouts_it_contains(written):
    recorded = sim_trace.job_of(written(job(1)), None)
    arms = [("two_phase", {"oratorio_method": "two_phase", "cb_nodes": "2"})]
    with schedule.Planner() as planner:
        (plan,) = planner.schedules(recorded.accesses[0], (RANKS, 2), arms, 1000)
    assert (plan.ranks, plan.nodes, plan.bytes) == (RANKS, 2, RANKS * BLOCK * BLOCKS)
    assert plan.pieces == RANKS * BLOCKS
    assert len(plan.aggregator_nodes) == 2
    sent = sum(one.sent.sum(axis=(0, 1)) for one in plan.sampled)
    assert sent[schedule.BYTES] + sent[schedule.OWN] == plan.bytes
    # Each aggregator has half of each rank's data, and its own data needs no message.
    assert sent[schedule.OWN] == plan.bytes / 4


@pytest.mark.usefixtures("planner")
def test_like_accesses_are_planned_once_and_all_are_counted(written, tmp_path, simulated):
    other = [
        write_of(rank, 3, memory=layout(8, BLOCK * BLOCKS, 1, BLOCK * BLOCKS, 1)) for rank in range(RANKS)
    ]
    path, page = written(job(events=other)), tmp_path / "page.md"
    code, said = simulated("--trace", path, "--machine", "fat-tree", "--output", page)
    assert code == 0, said
    assert "out.h5, collective access 0 and 2 like it" in said
    assert "out.h5, collective access 3:" in said
    assert "4 collective writes together" in said
    assert "recorded: two_phase, 4 ranks on 1 node" in said
    rows = [line for line in page.read_text().splitlines() if line.startswith("| recorded")]
    assert rows == ["| recorded: two_phase, 4 ranks on 1 node | 1 |  |  |"]


@dataclass(frozen=True)
class Answered:
    """Made-up seconds by method, from the closed form and from SimGrid."""

    predictions: tuple
    replayed: tuple = ()


def predicted(**seconds):
    return tuple(SimpleNamespace(arm=arm.replace("__", ":"), seconds=each) for arm, each in seconds.items())


def test_a_prediction_of_the_recorded_method_tells_how_far_off_it_is(written):
    """The trace has two accesses of 0.25 s each."""
    recorded = sim_trace.job_of(written(job(2)), None)
    closed = predicted(double_buffer=0.1, two_phase=0.2, two_phase__2=0.3)
    assert sim_trace.sum_rows(recorded, [Answered(closed)]) == [
        ["double_buffer", "0.2", "1.00", ""],
        ["two_phase", "0.4", "0.50", "-20"],
        ["two_phase:2", "0.6", "0.33", "+20"],
        ["recorded: two_phase, 4 ranks on 1 node", "0.5", "", ""],
    ]
    rows = sim_trace.sum_rows(recorded, [Answered(closed[1:2], predicted(two_phase=0.3))])
    assert rows[0] == ["two_phase", "0.4", "1.00", "-20", "0.6", "+20"]
    assert {len(row) for row in rows} == {6}


def test_the_librarys_estimate_of_the_accesses_is_printed(written):
    content = job(2)
    for event in content["traceEvents"]:
        if event.get("cat") == "access":
            event["args"]["counts"] = {"estimated_time": 100_000_000}
    recorded = sim_trace.job_of(written(content), None)
    rows = sim_trace.sum_rows(recorded, [Answered(predicted(two_phase=0.2))])
    assert rows[-1] == ["as estimated by its cost model", "0.2", "", "-60"]


@pytest.mark.usefixtures("planner")
def test_the_best_hints_are_those_of_the_writes_with_most_data(written, tmp_path, simulated):
    small = [write_of(rank, 3, asked=BLOCK, memory=layout(0, BLOCK, 1, BLOCK, 0)) for rank in range(RANKS)]
    found = tmp_path / "best.hints"
    words = ("--machine", "fat-tree", "--method", "two_phase", "--search", found)
    code, said = simulated("--trace", written(job(2, events=small)), *words)
    assert code == 0, said
    assert found.read_text().startswith("# out.h5, collective access 0 and 1 like it, 4 ranks")


def test_options_that_contradict_a_trace_are_refused(written, tmp_path, simulated):
    path = written(job())
    for words, said in (
        (["--trace", path, "--map", path], "a trace is a workload of its own"),
        (["--file", "out.h5"], "it requires --trace"),
        (["--trace", path, "--ranks", 16], "the trace has 4 ranks: it can't be simulated with 16"),
        (["--trace", tmp_path / "none"], "No such file"),
    ):
        code, told = simulated(*words)
        assert code == 2
        assert said in told
        assert told.count("\n") == 1, told


def test_one_direction_is_simulated_and_the_other_reported(written):
    reads = [write_of(rank, 3, direction="read") for rank in range(RANKS)]
    both = written(job(events=reads))
    assert "not simulated: 1 collective reads (--direction read)" in sim_trace.job_of(both, None).told
    (read,) = sim_trace.job_of(both, None, direction="read").accesses
    assert [one.number for one in read.alike] == [3]
    with pytest.raises(SimulateError, match="there is no collective write"):
        sim_trace.job_of(written(job(0, events=reads)), None)


def test_the_last_file_with_most_data_of_a_direction_is_simulated(written):
    """The trace is like that of a benchmark which writes and reads the same file again and again."""
    content = job(1)
    events = content["traceEvents"]
    passes = []
    for number, direction in enumerate(("write", "read", "write", "read")):
        passes.append(json.loads(json.dumps(events)))
        for event in passes[-1]:
            if "file" in event.get("args", {}):
                event["args"]["file"] = number
            if event.get("cat") == "access":
                event["args"]["direction"] = direction
    content["traceEvents"] = [event for one in passes for event in one]
    path = written(content)
    for direction, number in (("write", 2), ("read", 3)):
        assert sim_trace.job_of(path, None, direction=direction).file.number == number
    assert bench_trace.job_of(path, None).file.number == 0


def test_a_trace_without_layouts_still_has_tables(written):
    assert trace.read(written(two_ranks()))[0].dropped_layouts == 0
