# SPDX-License-Identifier: BSD-3-Clause
"""Tests ORATORIO_TRACE with real ranks: the trace has every access of every rank once, in whatever order
the ranks close their files."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import HERE, IS_BUILT, NOT_BUILT, compile_for, host_or_skip, run_checked

from oratorio.trace import trace
from oratorio_lab.trace import accesses

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)
ALL = ["mpich5", "openmpi5"]
RANKS = 4


def run_traced(name: str, folder: Path, env: dict[str, str], cwd: Path | None = None) -> str:
    """Runs the program with a trace and returns its standard error."""
    host = host_or_skip(name)
    program = compile_for(host.mpicc, HERE / "traced.c", f"traced-{name}")
    done = run_checked(host, RANKS, [program, folder], preload=True, env=env, cwd=cwd or folder)
    assert (folder / "all.dat").stat().st_size == 3 * RANKS * 64 * 512
    return done.stderr


@pytest.mark.parametrize("env", [{}, {"ORATORIO_RANKS_PER_NODE": "2"}, {"ORATORIO_METHOD": "two_phase"}])
@pytest.mark.parametrize("name", ALL)
def test_each_access_of_each_rank_is_recorded_once(name, env, tmp_path):
    target = tmp_path / "trace.json"
    told = run_traced(name, tmp_path, {**env, "ORATORIO_TRACE": str(target)})
    assert "ORATORIO_TRACE" not in told
    shared, *own = trace.read(target)
    assert Path(shared.path).name == "all.dat"
    assert shared.nodes == (2 if "ORATORIO_RANKS_PER_NODE" in env else 1)
    for rank in range(RANKS):
        mine = [access for access in shared.accesses if access.rank == rank]
        assert [access.number for access in mine] == list(range(5))
        assert [access.collective for access in mine] == [0, 1, 2, 3, None]
        assert [access.args.get("started", False) for access in mine] == [False] * 3 + [True, False]
        for access in mine:
            phases = [span for span in access.spans if span.category == "phase"]
            assert sum(span.seconds for span in phases) <= access.seconds + 1e-7
            for span in access.spans:
                assert access.begin - 1e-8 <= span.begin <= span.end <= access.end + 1e-8
        view = mine[0].args["view"]
        assert (view["block"], view["levels"]) == (512, [[64, 512 * RANKS]])
    assert Counter(Path(file.path).name for file in own) == {f"own-{rank}.dat": 1 for rank in range(RANKS)}
    processes = {
        event["pid"]
        for event in json.loads(target.read_text())["traceEvents"]
        if event.get("cat") == "access"
    }
    assert processes == set(range(RANKS)), "ranks of the world, also in files that each rank opens alone"


@pytest.mark.parametrize("name", ALL)
def test_calls_that_move_no_data_are_recorded_apart_from_accesses(name, tmp_path):
    target = tmp_path / "trace.json"
    run_traced(name, tmp_path, {"ORATORIO_TRACE": str(target)})
    shared, *own = trace.read(target)
    for rank in range(RANKS):
        mine = [call for call in shared.calls if call.process == rank]
        assert [call.name for call in mine] == ["open", *["set_view"] * 3, "close"]
        moved = [access for access in shared.accesses if access.process == rank]
        in_order = sorted([*mine, *moved], key=lambda one: one.begin)
        assert all(one.end <= next_one.begin + 1e-8 for one, next_one in pairwise(in_order))
    assert [[call.name for call in file.calls] for file in own] == [["open", "close"]] * RANKS


@pytest.mark.short
def test_layouts_of_collective_accesses_are_recorded_once(tmp_path):
    target = tmp_path / "trace.json"
    run_traced("mpich5", tmp_path, {"ORATORIO_TRACE": str(target)})
    shared = trace.read(target)[0]
    found = accesses.collectives(shared)
    assert [one.number for one in found] == [0, 1, 2, 3]
    assert [one.bytes for one in found] == [RANKS * 64 * 512] * 4
    assert len({one.likeness for one in found}) == 1
    assert len(shared.shapes) == 2, "one of the view and one of the buffer, the same on all ranks"
    assert accesses.left_out(shared, found) == f"not replayed: {RANKS} independent accesses"


@pytest.mark.parametrize("name", ALL)
def test_a_trace_of_an_earlier_run_is_replaced(name, tmp_path):
    target = tmp_path / "trace.json"
    for _ in range(2):
        run_traced(name, tmp_path, {"ORATORIO_TRACE": str(target)})
        assert len(trace.read(target)) == 1 + RANKS


@pytest.mark.parametrize("name", ALL)
def test_each_writer_warns_once_of_an_unwritable_trace(name, tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "thesis").write_text("mine")
    for odd in ("/dev/full", tmp_path / "directory", tmp_path / "no" / "folder", tmp_path / "thesis"):
        told = run_traced(name, tmp_path, {"ORATORIO_TRACE": str(odd)})
        assert 1 <= told.count("ORATORIO_TRACE: ") <= RANKS, told
        assert str(odd) in told
        assert told.count("\n") <= RANKS, told
    assert (tmp_path / "thesis").read_text() == "mine"
    assert run_traced(name, tmp_path, {"ORATORIO_TRACE": "/dev/full", "ORATORIO_QUIET": "1"}) == ""


def test_1_is_a_file_in_the_working_directory_and_0_records_nothing(tmp_path):
    run_traced("mpich5", tmp_path, {"ORATORIO_TRACE": "0"})
    assert not [file for file in tmp_path.iterdir() if file.suffix != ".dat"]
    run_traced("mpich5", tmp_path, {"ORATORIO_TRACE": "1"})
    assert len(trace.read(tmp_path / "oratorio-trace.json")) == 1 + RANKS
