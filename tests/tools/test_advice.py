# SPDX-License-Identifier: BSD-3-Clause
"""Tests advice: each rule reports the runs that it should, and is silent about a run without its problem."""

from pathlib import Path

import pytest
from made_runs import MIB, access, collective, file, planned, run

from oratorio.quantity import amount
from oratorio.report import advice, explained
from oratorio.report.facts import Limit, Limits

DOCS = Path(__file__).resolve().parents[2] / "docs"


def slow(milliseconds):
    return planned(
        "one_writer",
        "requested by name",
        ("cb_block", 0.9, "by name only"),
        ("shared_buffer", 1.0, ""),
        ("one_writer", milliseconds, ""),
    )


THREAD = "/s/a.dat: nonblocking and split accesses: a helper thread makes them progress"
CALLS = "/s/a.dat: nonblocking and split accesses: "
CALLS += "they progress in the program's calls that wait, test or use files"
STRIDED = {"method": "list_io", "pieces": 100, "collective": 0, "counts": {"storage_time": 0.05}}


def told(*remarks):
    return explained.Explained(remarks=list(remarks))


def striped(path):
    said = explained.Striping(path, 40 << 30, 1, 40, "lfs setstripe -c 40")
    return explained.Explained(striping=[said])


def small(count, moved=100):
    return file(*[access(0, n, 0.1, moved=moved) for n in range(count)])


def strided(hulls, **args):
    return file(
        *[access(r, 1.0, 0.1, moved=1000, hull=hull, **{**STRIDED, **args}) for r, hull in enumerate(hulls)]
    )


def read(**counts):
    return file(access(0, 1.0, 0.1, direction="read", counts=counts))


def at(*begins, seconds=1.0):
    return file(
        *[access(r, begin, seconds, collective=0, method="two_phase") for r, begin in enumerate(begins)]
    )


def steps(first, others):
    return file(
        *[access(0, n, first if n == 0 else others, collective=n, method="two_phase") for n in range(4)]
    )


# (rule, a run that the rule reports, a similar run that it does not report)
CASES = [
    (advice.errors, run(file(access(0, 1.0, 0.1, error="no room"))), run(small(1))),
    (
        advice.misspelt,
        run(explained=told("hint cb_nodez: did you mean cb_nodes?")),
        run(explained=told(THREAD)),
    ),
    (advice.small_pieces, run(strided([[0, 9000], [10, 9010]])), run(strided([[0, 9000], [9000, 18000]]))),
    (
        advice.small_pieces,
        run(strided([[0, 9000], [10, 9010]])),
        run(strided([[0, 9000], [10, 9010]], method="sieve")),
    ),
    (
        advice.small_pieces,
        run(strided([[0, 9000], [10, 9010]])),
        run(strided([[0, 9000], [10, 9010]], counts={"storage_time": 0.001})),
    ),
    (advice.loads_too_much, run(read(bytes_loaded=4 * MIB)), run(read(bytes_loaded=MIB))),
    (
        advice.fills_holes,
        run(file(access(0, 1.0, 0.1, counts={"bytes_loaded": MIB, "hole_reads": 2}))),
        run(file(access(0, 1.0, 0.1, counts={"bytes_loaded": MIB}))),
    ),
    (advice.few_targets, run(small(1), explained=striped("/scratch/out.h5")), run(small(1))),
    (advice.late_ranks, run(at(1.0, 1.9)), run(at(1.0, 1.01))),
    (advice.first_access, run(steps(1.0, 0.1)), run(steps(0.2, 0.1))),
    (advice.asked_by_name, run(explained=slow(4.0)), run(explained=slow(1.2))),
    (
        advice.network_writes,
        run(file(*[access(0, n, 0.1) for n in range(40)], kind="NFS:")),
        run(file(*[access(0, n, 0.1, collective=n) for n in range(40)], kind="NFS:")),
    ),
    (advice.not_beside, run(explained=told(CALLS)), run(explained=told(THREAD))),
    (advice.crowded, run(file(ranks=8), cores=2), run(file(ranks=2), cores=2)),
    (
        advice.crowded,
        run(*[file(access(0, 1.0, 0.5, process=p), ranks=1, number=p) for p in range(8)], cores=2),
        run(*[file(access(0, 1.0, 0.5, process=0), ranks=1, number=n) for n in range(8)], cores=2),
    ),
]


@pytest.mark.parametrize(("rule", "speaks", "silent"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_rule_reports_only_its_own_finding(rule, speaks, silent):
    said = rule(speaks)
    assert said is not None and said.rule == rule.__name__
    assert said.sees and said.tries.endswith(".")
    assert rule(silent) is None


def test_a_file_with_few_targets_is_reported_with_the_time_of_its_writes():
    stored = [access(rank, 1.0, 0.5, counts={"storage_time": 0.25}) for rank in (0, 1)]
    said = advice.few_targets(run(file(*stored), explained=striped("/scratch/out.h5")))
    assert said.sees == "out.h5: 40.0 GiB of a new file are on 1 storage target."
    assert said.seconds == pytest.approx(0.5)
    assert said.changes["shell"] == "lfs setstripe -c 40 /scratch"
    assert '"striping_factor", "40"' in said.changes["C"]


def test_rules_match_the_texts_of_explain():
    golden = (DOCS.parent / "tests/unit/plan/explain.golden").read_text()
    assert f"({advice.ASKED_BY_NAME})" in golden


def test_every_rule_has_a_case_here():
    assert {case[0] for case in CASES} == set(advice.RULES)


def test_every_named_page_exists():
    limits = [Limits("UFS", ""), Limits("UFS", "f", (Limit("written to the storage", 9.0, 10.0, 1.0),))]
    said = [case[0](case[1]) for case in CASES] + advice.of_limits(limits)
    assert {one.page for one in said if not (DOCS / one.page).exists()} == set()


def test_a_limit_of_the_machine_is_reported_when_reached():
    def said(share, source="f"):
        return [
            one.rule
            for one in advice.of_limits(
                [Limits("UFS", source, (Limit("read from the storage", share, 1, 1),))]
            )
        ]

    assert said(0.9) == ["at_the_limit"]
    assert said(0.2) == []
    assert advice.of_limits([Limits("UFS", "")])[0].rule == "not_calibrated"


def test_advice_about_more_time_comes_first():
    late = at(1.0, 1.9)
    late.accesses += small(40).accesses
    rules = [one.rule for one in advice.advise(run(late), [Limits("UFS", "")])]
    assert rules == ["small_independent", "uneven_time", "late_ranks", "not_calibrated"]


def test_advice_about_little_time_is_omitted():
    quick = file(*[access(0, n, 0.0001, moved=100) for n in range(40)])
    assert [one.rule for one in advice.advise(run(quick))] == ["small_independent"]
    assert advice.advise(run(quick, file(access(0, 1.0, 60.0), number=1))) == []


def test_a_run_without_problems_gets_no_advice():
    assert advice.advise(run(file(*collective(3)))) == []


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 bytes"), (512, "512 bytes"), (1536, "1.5 KiB"), (200 * MIB, "200 MiB"), (1 << 50, "1048576 GiB")],
)
def test_amounts_are_printed_in_readable_units(count, said):
    assert amount(count) == said
