# SPDX-License-Identifier: BSD-3-Clause
"""Tests the rules for recordings and Darshan logs: each reports its own finding and is silent without it."""

from pathlib import Path

import pytest
from made_runs import KIB, MIB, access, collective, file, run

from oratorio.report import access_rules, advice
from oratorio.report.access_facts import (
    HDF5_MAGIC,
    Balance,
    Dataset,
    FileFacts,
    JobFacts,
    Stream,
    facts_of_run,
    library_of,
)
from oratorio.report.page import html_of

DOCS = Path(__file__).resolve().parents[2] / "docs"


def job(**facts):
    seconds = facts.pop("seconds", 1.0)
    balances = tuple(facts.pop("balances", ()))
    made = FileFacts(**{"path": "/s/field.h5", "ranks": 4, **facts})
    return JobFacts((made,), 4, seconds, balances)


def stream(is_collective, calls, mean, ranks=4, direction="write"):
    accesses = ranks * calls
    return Stream(direction, is_collective, calls, accesses, accesses * mean, 0.5, ranks)


def independent(*sizes, **facts):
    streams = tuple(stream(False, 40, size) for size in sizes)
    return job(**{"library": "HDF5", "streams": streams, **facts})


def chunks(chunk, selected, **facts):
    return job(datasets=(Dataset("field", chunk, selected, 0.1),), **facts)


def balance(moved, typical, seconds=1.0, typical_seconds=1.0):
    return job(balances=[Balance("All files", 3, moved, typical, seconds, typical_seconds)])


RULES = access_rules
# (rule, facts that the rule reports, similar facts that it does not report)
CASES = [
    (RULES.small_independent, independent(100), independent(MIB)),
    (RULES.small_independent, independent(100), job(streams=(stream(False, 10, 100),))),
    (RULES.small_independent, independent(100), job(streams=(stream(True, 40, 100),))),
    (RULES.small_collective, job(streams=(stream(True, 1000, 800),)), job(streams=(stream(True, 10, 800),))),
    (RULES.small_collective, job(streams=(stream(True, 1000, 800),)), job(streams=(stream(True, 40, MIB),))),
    (RULES.uneven, balance(9 * MIB, MIB), balance(2 * MIB, MIB)),
    (RULES.uneven_time, balance(MIB, MIB, 9.0, 1.0), balance(MIB, MIB, 1.5, 1.0)),
    (RULES.uneven_time, balance(MIB, MIB, 9.0, 1.0), balance(9 * MIB, MIB, 9.0, 1.0)),
    (RULES.hdf5_independent, independent(MIB), independent(MIB, library="")),
    (RULES.hdf5_independent, independent(MIB), independent(100)),
    (RULES.hdf5_independent, job(library="HDF5", streams=(stream(False, 1000, 800),)), independent(800)),
    (RULES.small_independent, independent(100), job(library="HDF5", streams=(stream(False, 1000, 800),))),
    (RULES.hdf5_independent, independent(100, collective_selected=True), independent(100)),
    (RULES.hdf5_independent, independent(MIB), job(streams=(stream(False, 40, MIB, ranks=1),))),
    (RULES.shared_chunks, chunks((10, 64), (10, 100)), chunks((10, 50), (10, 100))),
    (RULES.shared_chunks, chunks((10, 64), (10, 100)), chunks((10, 64), (10, 100), ranks=1)),
    (
        RULES.metadata,
        job(metadata_calls=90, metadata_seconds=2.0),
        job(metadata_calls=9, metadata_seconds=2.0),
    ),
    (
        RULES.metadata,
        job(metadata_calls=90, metadata_seconds=2.0),
        job(metadata_calls=90, metadata_seconds=0.1, streams=(stream(True, 1, MIB),)),
    ),
    (RULES.metadata, job(repeated_reads=40), job(repeated_reads=4)),
    (RULES.frequent_opens, job(opens=100), job(opens=100, seconds=60.0)),
    (RULES.frequent_opens, job(ranks=2000), job(ranks=2000, seconds=60.0)),
    (
        RULES.unaligned,
        job(stripe=MIB, large=40, unaligned=39),
        job(stripe=MIB, large=40, unaligned=1),
    ),
]


@pytest.mark.parametrize(("rule", "speaks", "silent"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_rule_reports_only_its_own_finding(rule, speaks, silent):
    said = rule(speaks)
    assert said is not None and said.rule == rule.__name__
    assert said.sees.endswith(".") and said.tries.endswith(".")
    assert rule(silent) is None


@pytest.mark.parametrize("case", CASES, ids=[case[0].__name__ for case in CASES])
def test_advice_has_the_line_to_change_in_each_interface(case):
    said = case[0](case[1])
    assert set(said.changes) == {"C", "h5py", "netCDF"} and all(said.changes.values())
    assert (DOCS / said.page).exists()


def test_every_rule_has_a_case_here():
    assert {case[0] for case in CASES} == set(access_rules.RULES)


def test_a_job_without_files_gets_no_advice():
    assert [rule(JobFacts((), 4, 1.0)) for rule in access_rules.RULES] == [None] * len(access_rules.RULES)


@pytest.mark.parametrize(
    ("is_selected", "reason"),
    [(True, "although"), (False, "did not select collective access."), (None, ", or")],
)
def test_the_reason_of_independent_accesses_is_named_where_it_is_known(is_selected, reason):
    said = access_rules.hdf5_independent(independent(MIB, collective_selected=is_selected))
    assert reason in said.sees


def test_a_recording_counts_calls_of_a_rank_and_bytes_of_all():
    facts = facts_of_run(run(file(*collective(5, moved=KIB, seconds=0.5))))
    assert facts.files[0].streams == (Stream("write", True, 5, 10, 10 * KIB, 5.0, 2),)
    assert (facts.ranks, facts.files[0].opens) == (2, 1)


def test_a_recording_counts_each_open_of_a_file():
    opened = [file(access(0, n, 0.1, collective=0), number=n) for n in range(40)]
    facts = facts_of_run(run(*opened, wall_seconds=2.0))
    assert (len(facts.files), facts.files[0].opens, facts.seconds) == (1, 40, 2.0)
    assert access_rules.frequent_opens(facts).rule == "frequent_opens"


def test_one_open_of_each_rank_alone_is_not_taken_for_opens_of_one_rank():
    alone = [file(ranks=1, number=n, calls=[("open", n, 0.0, 0.001)]) for n in range(64)]
    facts = facts_of_run(run(*alone, wall_seconds=0.05))
    assert (facts.files[0].opens, facts.files[0].ranks) == (1, 64)
    sees = access_rules.frequent_opens(facts).sees
    assert "opened files 64 times" in sees and "a rank" not in sees
    assert access_rules.frequent_opens(facts_of_run(run(*alone, wall_seconds=2.0))) is None


def test_opens_and_closes_of_a_recording_have_their_time():
    calls = [("open", 0, 0.0, 0.5), ("close", 0, 2.0, 0.25), ("sync", 0, 1.5, 0.125)]
    (found,) = facts_of_run(run(file(access(0, 1.0, 0.5), calls=calls))).files
    assert found.metadata_seconds == 0.75


def test_a_recording_finds_small_reads_that_several_ranks_make():
    def read(rank, hull):
        return [access(rank, n, 0.1, direction="read", moved=512, hull=hull) for n in range(20)]

    both = facts_of_run(run(file(*read(0, [0, 512]), *read(1, [0, 512]))))
    apart = facts_of_run(run(file(*read(0, [0, 512]), *read(1, [512, 1024]))))
    assert (both.files[0].repeated_reads, apart.files[0].repeated_reads) == (40, 0)


def test_a_recording_compares_offsets_with_the_stripes():
    one = file(*[access(0, n, 0.1, hull=[n * MIB + n % 2, (n + 1) * MIB]) for n in range(8)])
    one.args["hints"]["striping_unit"] = str(MIB)
    found = facts_of_run(run(one)).files[0]
    assert (found.stripe, found.large, found.unaligned) == (MIB, 8, 4)


@pytest.mark.parametrize(
    ("begin", "library"), [(HDF5_MAGIC, "HDF5"), (b"CDF\x05rest", "netCDF classic"), (b"else", "")]
)
def test_the_library_is_recognized_by_the_first_bytes(begin, library, tmp_path):
    (tmp_path / "file").write_bytes(begin + bytes(100))
    assert library_of(str(tmp_path / "file")) == library
    assert library_of(str(tmp_path / "absent")) == ""


def test_a_page_shows_the_lines_to_change():
    slow = run(file(*collective(100, moved=800)))
    assert [one.rule for one in advice.advise(slow)] == ["small_collective"]
    assert "numpy.full" in html_of(slow, {})
