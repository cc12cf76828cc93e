# SPDX-License-Identifier: BSD-3-Clause
"""Tests that `oratorio soak` runs each seed once and adds up the results of its processes."""

from pathlib import Path

from oratorio_dev import soak


def test_every_seed_is_run_once():
    seeds: list[int] = []
    for command in soak.commands(Path("program"), 10, 100, 3, []):
        first, count, every = (
            int(command[command.index(f"--{name}") + 1]) for name in ("first", "count", "every")
        )
        seeds += range(first, first + count * every, every)
    assert sorted(seeds) == list(range(100, 110))


def test_no_process_is_started_for_nothing():
    assert len(soak.commands(Path("program"), 2, 1, 8, [])) == 2


def test_output_of_each_process_is_kept_apart():
    share = soak.Share()
    for line in (
        "progress 10 2\n",
        "seed 4: stale: found\n",
        "  byte 3\n",
        "accesses 90\n",
        "kind stale 2 first 4\n",
    ):
        share.hear(line)
    assert (share.done, share.failed) == (10, 2)
    assert share.kinds == {"stale": 2}
    assert share.firsts == {"stale": 4}
    assert share.text == ["seed 4: stale: found", "  byte 3"]
