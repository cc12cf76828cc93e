# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio bench paper`: what is measured of each paper, and how its claims are judged."""

from pathlib import Path

import pytest

from oratorio.launch.hosts import Host
from oratorio_lab.bench.arms import is_oratorios, method_of
from oratorio_lab.bench.run import Settings
from oratorio_lab.bench.workloads import WORKLOADS, BenchError
from oratorio_lab.papers import arithmetic, claims
from oratorio_lab.papers import measure as bench_paper
from oratorio_lab.papers.claims import Claim, Verdict
from oratorio_lab.papers.figures import AGGREGATORS, CYCLES, PAPER_2001, PAPERS, PREFETCH, RANKS, SLOTS

NOWHERE = Path("/nowhere")
HOST = Host("mpich5", "mpich", NOWHERE, NOWHERE, NOWHERE, "5.0.2", "hydra")
SETTINGS = Settings(HOST, (), (), 1, Path("/tmp"), 60)
CURVES = [
    {"a": [10.0, 40.0, None], "b": [5.0, 80.0, 9.0], "raw": [100.0, 100.0, 100.0]},
    {"a": [30.0, 30.0, 60.0], "b": [10.0, 60.0, 60.0]},
]


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        (claims.times("a", "b"), 3.0),
        (claims.times("b", "a"), 2.0),
        (claims.typically("a", "b"), 1.0),
        (claims.at_first("a", "b"), 3.0),
        (claims.at_last("a", "b"), 1.0),
        (claims.of_raw("a"), 40.0),
        (claims.spread("a"), 4.0),
        (claims.first_to_last("b"), (5 / 9 + 10 / 60) / 2),
        (claims.between_curves("a"), 3.0),
        (claims.rising("b", "a"), 0.4),
        (claims.first_panel_to_last("b"), 9 / 60),
        (claims.first_to_best("b"), 10 / 60),
        (claims.best_of(("b", "c"), "a"), 2.0),
        (claims.lowest_to_peak("a", "b"), 10 / 80),
    ],
)
def test_a_measure_combines_all_measured_points(measure, value):
    assert measure(CURVES) == pytest.approx(value)


@pytest.mark.parametrize(
    "measure",
    [claims.times("c", "a"), claims.typically("a", "c"), claims.of_raw("c"),
     claims.spread("c"), claims.first_to_last("c"), claims.between_curves("c"),
     claims.rising("c", "d"), claims.first_panel_to_last("c"), claims.first_to_best("c"),
     claims.best_of(("c",), "a"), claims.lowest_to_peak("c", "a")],
)  # fmt: skip
def test_unmeasured_constants_have_no_value(measure):
    assert measure(CURVES) is None


@pytest.mark.parametrize(
    ("value", "word"),
    [(None, "not measured"), (0.9, "does not show"), (1.2, "shows in part"), (3.0, "shows"), (9.0, "shows")],
)
def test_the_verdict_on_a_claim_depends_on_the_measured_value(value, word):
    claim = Claim("it is faster", "1", "write", "a to b", claims.times("a", "b"), 2, partly=1.1)
    assert Verdict(claim, value).word == word


def test_passes_that_disagree_are_noise():
    claim = Claim("it is faster", "1", "write", "a to b", claims.times("a", "b"), 2)
    assert Verdict(claim, 2.1, (2.3, 2.05)).word == "shows"
    assert Verdict(claim, 2.1, (2.3, 1.9)).word == "within the noise"
    assert Verdict(claim, 2.1, (2.3, 1.9)).found == "2.10 (1.90 to 2.30)"


def test_no_gain_is_claimed_where_none_is_possible():
    claim = Claim("it is faster", "1", "write", "a to b", claims.times("a", "b"), 2, needs="network")
    assert Verdict(claim, 9.0, lacks="all ranks are on one machine").word.startswith("cannot be shown here")


def test_a_claim_may_have_an_upper_end():
    claim = Claim("hardly a difference", "1", "write", "a to b", claims.times("a", "b"), 0, 2)
    assert [Verdict(claim, value).word for value in (1.0, 2.5)] == ["shows", "does not show"]


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_sweeps_and_claims_of_a_paper_exist(paper):
    for sweep in paper.sweeps:
        assert sweep.values or sweep.over == RANKS
        assert any(is_oratorios(arm) for arm in sweep.arms)
        if sweep.workload not in WORKLOADS:
            continue
        own = {p.name for p in WORKLOADS[sweep.workload].parameters}
        assert set(sweep.given) | set(sweep.full_given) <= own
        assert sweep.over in own | {RANKS, CYCLES} or "_" in sweep.over
    for claim in paper.claims:
        sweeps = [sweep for sweep in paper.sweeps if sweep.figure == claim.figure]
        assert sweeps and all(claim.direction in sweep.directions for sweep in sweeps)
        assert claim.panel in ("", *(sweep.title for sweep in sweeps))
        made_up = [{arm: [1.0, 2.0] for sweep in sweeps for arm in sweep.arms}] * 2
        assert claim.measure(made_up) is not None, claim.said


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_each_point_of_a_paper_can_be_run(paper, full):
    scale = bench_paper.Scale((4, 16), full=full)
    measured = bench_paper.plan(paper, paper.figures, paper.modes, scale, SETTINGS)
    jobs = bench_paper.jobs(measured)
    assert len(jobs) == len({id(run) for run, _ in jobs}) >= 2
    for run, settings in jobs:
        assert settings.directions and settings.arms
        assert {arm for arm, _, _ in settings.hints} <= set(settings.arms)
        assert not WORKLOADS[run.workload].refusal(run.ranks)


def points_of(paper, figure, scale):
    measured = bench_paper.plan(paper, (figure,), ("buffered",), scale, SETTINGS)
    return bench_paper.jobs(measured)


def hint_of(settings, arm, key):
    return next((value for name, known, value in settings.hints if (name, known) == (arm, key)), None)


def test_cycles_are_swept_by_the_collective_buffer():
    jobs = points_of(PAPERS["2014"], "5-slots", bench_paper.Scale((4, 8)))
    assert [run.ranks for run, _ in jobs] == [4] * 4 + [8] * 4
    for run, settings in jobs:
        wanted = int(run.label.split()[-1])
        size = arithmetic.file_bytes("hpio", run.parameters, run.ranks)
        chunk = int(hint_of(settings, "host", "cb_buffer_size"))
        assert arithmetic.cycles(size, AGGREGATORS, chunk) == (wanted, AGGREGATORS)
        # Half of Oratorio's buffer is the write mask.
        assert int(hint_of(settings, "two_phase", "cb_buffer_size")) == 2 * chunk
    slots = {arm: value for arm, key, value in jobs[0][1].hints if key == "oratorio_slots"}
    assert slots == {arm: arm[-1] for arm in SLOTS} and method_of(SLOTS[0]) == "multithreaded"


def test_an_info_key_is_swept_as_a_hint_of_its_arms():
    jobs = points_of(PAPERS["1995"], "target-nodes", bench_paper.Scale((4,)))
    assert [hint_of(settings, "cb_cyclic", "cb_nodes") for _, settings in jobs] == ["1", "2", "4", "8"]
    assert {hint_of(settings, "cb_block", "cb_nodes") for _, settings in jobs} == {None}
    _, settings = points_of(PAPER_2001, "4-prefetch", bench_paper.Scale((4,)))[0]
    assert [hint_of(settings, arm, "oratorio_max_acc") for arm in PREFETCH] == ["0", "1", "2", "4", "6", "8"]


def test_a_node_has_at_most_all_ranks():
    jobs = points_of(PAPER_2001, "10-ranks-of-a-node", bench_paper.Scale((2, 4)))
    assert [(settings.ranks_of_node, run.ranks) for run, settings in jobs] == [
        (1, 2), (1, 4), (2, 2), (2, 4), (4, 4)
    ]  # fmt: skip


def test_a_sparse_task_has_blocks_in_proportion_to_sparsity_and_tasks():
    jobs = points_of(PAPER_2001, "6-sparse", bench_paper.Scale((2, 16), full=True))
    found = {(run.parameters["sparsity"], run.ranks): run.parameters["count"] for run, _ in jobs}
    assert found == {(sf, n): sf * n for sf in (100, 50, 25, 10, 1) for n in (2, 16)}


def test_full_sizes_are_halved_until_they_fit():
    def sizes(room):
        scale = bench_paper.Scale((16,), full=True, room=room)
        measured = bench_paper.plan(PAPERS["2019"], ("6-btio",), ("buffered",), scale, SETTINGS)
        run, _ = bench_paper.jobs(measured)[0]
        return run.parameters["n"], run.parameters["variables"], measured.reduced

    n, variables, reduced = sizes(0)
    assert (n, variables) == (512, 40) and reduced == (
        "ranks: 16; in the paper 256 to 16 384, on nodes of 64",
    )
    n, variables, reduced = sizes(4 << 30)
    assert (n, variables) == (128, 40)
    assert reduced[0].startswith(
        "6-btio, BTIO: n 128, in the paper 512 (200.0 GiB; there is room for 4.0 GiB)"
    )


def test_numbers_of_the_papers_are_counted():
    assert arithmetic.cycles(274 << 30, 30, 2 << 30) == (5, 17)
    assert arithmetic.cycles(274 << 30, 30, 1 << 30) == (10, 4)
    assert arithmetic.cycles(60 << 30, 30, 1 << 30) == (2, 30)
    entries, lines = (fact.counted for fact in PAPERS["2006"].counted)
    assert "1,970,749,440 entries; at 16 bytes each they take 29.4 GiB, the data 14.7 GiB" in entries
    assert "are 62 % fewer" in lines


def test_rates_are_drawn_relative_to_an_arm():
    rates = {"two_phase": [10.0, None], "multithreaded@2": [15.0, 9.0], "raw": [99.0, 99.0]}
    assert bench_paper._relative(rates, "two_phase") == {
        "two_phase": [1.0, None], "multithreaded@2": [1.5, None]
    }  # fmt: skip


def test_a_claim_may_be_about_one_panel():
    scale = bench_paper.Scale((4, 16))
    measured = bench_paper.plan(PAPER_2001, ("6-sparse",), ("buffered",), scale, SETTINGS)
    claim = next(claim for claim in PAPER_2001.claims if claim.panel == "1 % of the stripes")
    about = [curve for curve in measured.curves if bench_paper._is_about(claim, curve, "buffered")]
    assert [(curve.sweep.title, curve.direction) for curve in about] == [(claim.panel, claim.direction)]


def test_a_parameter_replaces_what_is_swept_or_given():
    given = bench_paper.parse_parameters(["block=2KiB,8KiB", "bytes=64KiB"], PAPERS["1995"])
    jobs = points_of(PAPERS["1995"], "disk-directed", bench_paper.Scale((4,), given=given))
    assert [run.parameters["block"] for run, _ in jobs] == [2 << 10, 8 << 10]
    assert {run.parameters["bytes"] for run, _ in jobs} == {64 << 10}
    given = bench_paper.parse_parameters(["count=9"], PAPER_2001)
    jobs = points_of(PAPER_2001, "6-sparse", bench_paper.Scale((4,), given=given))
    assert {run.parameters["count"] for run, _ in jobs} == {9}
    with pytest.raises(BenchError, match="has a parameter edge"):
        bench_paper.parse_parameters(["edge=1"], PAPER_2001)


def test_past_the_page_cache_is_measured_where_there_is_a_disk(monkeypatch):
    for in_memory, modes in ((True, ("buffered",)), (False, ("buffered", "direct"))):
        monkeypatch.setattr(bench_paper.report, "is_in_memory", lambda _, told=in_memory: told)
        assert bench_paper.modes_of(PAPERS["2006"], NOWHERE) == modes


def test_missing_entries_are_omitted(monkeypatch):
    monkeypatch.setattr(bench_paper, "methods", lambda: ["auto", "naive", "cb_block"])
    scale = bench_paper.Scale((4,))
    measured = bench_paper.plan(PAPERS["1995"], ("grouping", "buffering"), ("buffered",), scale, SETTINGS)
    assert bench_paper.figure_names(measured) == ["grouping", "buffering"]
    assert all(set(curve.arms) <= {"auto", "naive", "cb_block", "raw"} for curve in measured.curves)
    monkeypatch.delitem(WORKLOADS, "mar")
    measured = bench_paper.plan(PAPER_2001, ("4-prefetch",), ("buffered",), scale, SETTINGS)
    assert not measured.curves and measured.skipped == ("4-prefetch: there is no workload mar",)
