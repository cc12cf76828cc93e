# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio bench trace`: real ranks repeat what ORATORIO_TRACE recorded, and every byte is
verified."""

import pytest
from conftest import IS_BUILT, NOT_BUILT
from test_bench import bench, measured, refusal

from oratorio.trace import trace
from oratorio_lab.trace import accesses

pytestmark = pytest.mark.skipif(not IS_BUILT, reason=NOT_BUILT)


def traced(folder, workload, *words):
    """Returns the trace of a run of a workload with two_phase."""
    target = folder / "trace.json"
    done = bench(
        folder, workload, "--ranks", 4, "--method", "two_phase", *words, env={"ORATORIO_TRACE": str(target)}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return target


# The workloads cover irregular views, memory with gaps, files with several calls per view and holes in the
# file.
@pytest.mark.parametrize("workload", ["e3sm_f", "flash", "btio", "s3d", "sparse", "tile"])
def test_accesses_of_a_trace_are_made_again(workload, tmp_path):
    for direction in ("write", "read"):
        recorded = traced(tmp_path, workload, "--direction", direction)
        (run,) = measured(tmp_path, "trace", recorded, arms="host,auto,two_layer,raw")["runs"]
        assert run["ranks"] == 4
        assert {(s["arm"], s["direction"]) for s in run["samples"]} == {
            (arm, direction) for arm in ("host", "auto", "two_layer", "raw")
        }
        assert all(sample["verified"] and sample["counted"] for sample in run["samples"])
        sizes = {sample["bytes"] for sample in run["samples"]}
        first = accesses.file_named(trace.read(recorded), None)
        assert sizes == {sum(one.bytes for one in accesses.collectives(first))}
        recorded.unlink()


def test_a_trace_that_can_not_be_made_again_is_refused(tmp_path):
    recorded = traced(tmp_path, "array", "--direction", "write")
    for words, said in (
        ((recorded, "--ranks", 2), "the trace has 4 ranks: it can't be repeated with 2"),
        ((recorded, "--direction", "read"), "no collective read to repeat"),
        ((recorded, "--method", "host_tuned"), "host_tuned: there are no known best hints for a trace"),
        ((recorded, "--method", "by_hand"), "by_hand: a trace doesn't say"),
        ((recorded, "--file", "other"), "no file whose path contains 'other'"),
        ((tmp_path / "none",), "No such file"),
    ):
        assert said in refusal(tmp_path, "trace", *words)
    recorded.write_bytes(recorded.read_bytes()[:-500])
    assert "ends early" in refusal(tmp_path, "trace", recorded)
