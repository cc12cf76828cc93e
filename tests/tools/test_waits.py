# SPDX-License-Identifier: BSD-3-Clause
"""Tests what a report says about the ranks that others waited for, and about the rates over all ranks."""

import pytest
from made_runs import MIB, access, collective, file, run

from oratorio.report import page
from oratorio.report.waits import Rate, WaitedFor, busy_seconds, rates_of, waited_for


def call(*begins_and_counts, seconds=1.0, **args):
    """Returns the records of one collective call. Each argument holds the start and the time counters of a
    rank."""
    return [
        access(rank, begin, seconds, counts=counts, collective=0, method="two_phase", **args)
        for rank, (begin, counts) in enumerate(begins_and_counts)
    ]


def test_the_rank_that_enters_last_is_waited_for():
    late = call((0.0, {"wait_time": 0.5}), (0.1, {"wait_time": 0.5}), (0.4, {}))
    (found,) = waited_for(run(file(*late, ranks=3)))
    assert (found.rank, found.late_calls, found.busy_seconds) == (2, 1, 0.0)
    assert found.late_seconds == pytest.approx(0.4 + 0.3)


def test_a_rank_that_was_not_idle_did_not_wait():
    late = call((0.0, {"wait_time": 0.1}), (0.4, {}))
    (found,) = waited_for(run(file(*late)))
    assert found.late_seconds == pytest.approx(0.1), "a method in which ranks don't wait, or not for long"
    assert waited_for(run(file(*call((0.0, {}), (0.4, {}))))) == []


def test_other_idle_time_is_divided_among_the_ranks_that_worked():
    busy = call(
        (0.0, {"storage_time": 0.6, "wait_time": 0.3}),
        (0.0, {"storage_time": 0.2, "copy_time": 0.1}),
        (0.0, {"wait_time": 0.9}),
    )
    first, second = waited_for(run(file(*busy, ranks=3)))
    assert (first.rank, second.rank) == (0, 1)
    assert first.busy_seconds == pytest.approx(0.6), "two thirds of rank 2's idle time, nothing of its own"
    assert second.busy_seconds == pytest.approx(0.3 + 0.3)
    assert first.late_calls == second.late_calls == 0


def test_only_blocking_collective_calls_of_several_ranks_count():
    waits = {"wait_time": 0.5}
    alone = access(0, 0.0, 1.0, counts=waits)
    started = call((0.0, waits), (0.4, {"storage_time": 0.5}), started=True)
    assert waited_for(run(file(alone), file(*started, number=1))) == []


def test_time_that_accesses_share_counts_once():
    assert busy_seconds([]) == 0
    assert busy_seconds([access(0, 1.0, 1.0), access(1, 0.5, 1.0), access(0, 4.0, 0.5)]) == pytest.approx(2.0)
    read = access(0, 9.0, 0.5, direction="read")
    rates = rates_of(run(file(*collective(2, seconds=0.5), read)))
    assert rates == {"read": Rate(MIB, pytest.approx(0.5)), "write": Rate(4 * MIB, pytest.approx(1.0))}


def test_the_page_shows_late_ranks_and_rates():
    late = call((0.0, {"wait_time": 0.5}), (0.4, {}))
    text = page.html_of(run(file(*late), wall_seconds=5.0), {})
    assert "Ranks that others waited for" in text and "rank 1<td>1<td>400.0 ms" in text
    assert "write rate<dd>1 MiB/s" in text and "outside of accesses<dd>3.60 s" in text
    none = page.html_of(run(file(*collective(1), dropped=1), wall_seconds=5.0), {})
    assert "Ranks that others waited for" not in none and "outside of accesses<dd>" not in none


def test_the_time_that_others_waited_for_a_rank_is_the_sum_of_its_parts():
    assert WaitedFor(1, 2, 0.5, 0.25).seconds == 0.75
