# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio count`: the program's output becomes a table that shows which claims hold."""

import io

import pytest
from rich.console import Console

from oratorio_lab import counts
from oratorio_lab.counts import Counted, CountError, Topic

TOPICS = [Topic("s3d", "2019", "pieces"), Topic("btio", "2019", "pieces"), Topic("disk", "1995", "calls")]


@pytest.mark.parametrize(
    ("line", "holds"),
    [("a\t3\t=\t3\tx", True), ("a\t3\t=\t4\tx", False), ("a\t3\t<=\t4\tx", True), ("a\t5\t<=\t4\tx", False),
     ("a\t5\t\t0\t", None)],
)  # fmt: skip
def test_a_line_of_the_program_is_a_fact(line, holds):
    fact = counts.parse_fact(line)
    assert fact.what == "a" and fact.holds is holds


def test_a_table_marks_what_does_not_hold():
    facts = tuple(counts.parse_fact(line) for line in ("a\t1234567\t=\t1234567\tx", "b\t5\t<=\t4\tx"))
    counted = Counted(TOPICS[0], facts, 1.0, 5.0)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(counts.table(counted))
    text = console.export_text()
    assert "1,234,567" in text and "yes" in text and "NO" in text
    assert not counted.all_hold
    assert Counted(TOPICS[0], facts[:1], 1.0, 5.0).all_hold


def test_topics_are_chosen_by_name_or_paper():
    assert counts.choose(TOPICS, []) == TOPICS
    assert counts.choose(TOPICS, ["2019"]) == TOPICS[:2]
    assert counts.choose(TOPICS, ["disk", "s3d"]) == [TOPICS[0], TOPICS[2]]
    with pytest.raises(CountError, match=r"no paper or topic tape; .* are 2019, s3d, btio, 1995, disk"):
        counts.choose(TOPICS, ["tape"])


def test_the_programs_reason_is_the_error(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho needs more ranks >&2\nexit 2\n")
    program.chmod(0o755)
    with pytest.raises(CountError, match="s3d: needs more ranks"):
        counts.count(program, TOPICS[0], 3)
