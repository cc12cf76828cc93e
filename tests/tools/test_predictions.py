# SPDX-License-Identifier: BSD-3-Clause
"""Tests the cost model's predictions for passes, and their errors."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from oratorio.launch.hosts import Host
from oratorio_lab.bench import predict as bench_predict
from oratorio_lab.bench import report
from oratorio_lab.bench.run import Run, Settings

NOWHERE = Path("/nowhere")
HOST = Host("mpich5", "mpich", NOWHERE, NOWHERE, NOWHERE, "5.0.2", "hydra")
ARMS = ("host", "auto", "raw")


def settings_of(**more) -> Settings:
    return Settings(HOST, ARMS, (), 3, Path("/tmp"), 60, predict=True, **more)


def sample(arm, direction, seconds, estimated_ms=0.0, *, repeat=0, verified=True):
    account = {"estimated_time": estimated_ms} if estimated_ms else {}
    return {
        "arm": arm, "direction": direction, "repeat": repeat, "seconds": seconds, "verified": verified,
        "account": account, "error": "", "bytes": 1 << 20, "mib_per_s": 1 / seconds, "open_seconds": 0.0,
        "call_peak_bytes": 0, "total_peak_bytes": 0, "holes_kept": True,
    }  # fmt: skip


def run_of(*samples, ranks=4) -> Run:
    return Run("tile", "tile", {}, ranks, samples=list(samples), setup={"mpi_version": "any"})


def writes(estimated_ms, *seconds):
    return [sample("auto", "write", one, estimated_ms, repeat=i) for i, one in enumerate(seconds)]


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    """Makes files of costs for this host, and for hosts without costs of their own."""
    here = bench_predict.calibrate.Place("here", "tmpfs")
    monkeypatch.setattr(bench_predict.calibrate, "place_of", lambda folder: here)
    monkeypatch.setenv("ORATORIO_COSTS", str(tmp_path))
    for name in here.names:
        (tmp_path / name).write_text("write_byte 0.5\n")
    return tmp_path


def test_a_pass_is_compared_with_the_prediction_of_every_rank():
    """Each of the four ranks adds the time of the whole collective access: 4 x 9 ms. The passes took 10, 12
    and 8 ms."""
    one = bench_predict.predicted(run_of(*writes(36.0, 0.010, 0.012, 0.008)), "auto", "write")
    assert (one.seconds, one.took) == (pytest.approx(0.009), 0.010)
    assert one.error == pytest.approx(-10)
    assert one.farthest == pytest.approx(20)


@pytest.mark.parametrize(
    "unfit", [{"repeat": -1}, {"verified": False}, {"estimated_ms": 0.0}], ids=["first", "wrong", "no plan"]
)
def test_only_good_measured_passes_with_plans_count(unfit):
    given = {"estimated_ms": 8000.0, **unfit}
    other = sample("auto", "write", 5.0, **given)
    assert bench_predict.predicted(run_of(other), "auto", "write") is None
    assert bench_predict.predicted(run_of(other, *writes(36.0, 0.010)), "auto", "write").took == 0.010


def test_the_host_and_raw_io_are_not_predicted():
    run = run_of(*(sample(arm, d, 1.0, 4000.0) for arm in ARMS for d in ("write", "read")))
    found = bench_predict.all_predicted([run], settings_of())
    assert [(one.arm, one.direction) for one in found] == [("auto", "write"), ("auto", "read")]


def test_the_constants_are_those_that_the_ranks_find(place):
    assert bench_predict.constants(settings_of()) == str(place / "here-tmpfs.costs")
    assert bench_predict.constants(settings_of(nodes=2)) == str(place / "tmpfs.costs")
    (place / "tmpfs.costs").unlink()
    assert bench_predict.constants(settings_of(nodes=2)) == bench_predict.BUILT_IN


def test_the_table_says_how_far_off_and_by_which_constants(place):
    runs = [run_of(*writes(36.0, 0.010, 0.012)), run_of(*writes(80.0, 0.010), ranks=2)]
    out = io.StringIO()
    Console(file=out, width=250).print(bench_predict.table(runs, settings_of()))
    told = out.getvalue()
    assert "-18" in told and "+300" in told
    told = bench_predict.summary(runs, settings_of())
    assert "2 predictions, off by 159 % in the median and 300 % at worst" in told
    assert "single passes deviate from their median by up to 5 % in the median and 9 % at worst" in told
    assert f"Constants: {place / 'here-tmpfs.costs'}" in told


def test_the_summary_says_if_nothing_was_predicted():
    assert bench_predict.summary([run_of()], settings_of()) == "nothing was predicted"
    empty = bench_predict.record([run_of()], settings_of())
    assert (empty["median_error"], empty["worst_error"], empty["each"]) == (None, None, [])


def test_the_file_of_results_has_each_prediction(place):
    file, run = place / "all.json", run_of(*writes(44.0, 0.010))
    run.setup |= {"bytes": 1 << 20, "pieces": 1}
    report.write_json(file, [(run, settings_of())], settings_of())
    told = json.loads(file.read_text())["predictions"]
    (each,) = told["each"]
    assert each["error"] == told["median_error"] == told["worst_error"] == pytest.approx(10)
    assert told["constants"] == str(place / "here-tmpfs.costs")


def test_nothing_is_predicted_without_a_request():
    settings = Settings(HOST, ARMS, (), 3, Path("/tmp"), 60)
    assert not settings.accounts
    assert bench_predict.record([run_of(*writes(36.0, 0.010))], settings) is None
