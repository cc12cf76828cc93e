# SPDX-License-Identifier: BSD-3-Clause
"""Tests that explanations are read as they are written."""

import re
from pathlib import Path

from oratorio import explained, method_table

GOLDEN = Path(__file__).resolve().parents[2] / "tests/unit/plan/explain.golden"
TOLD = """\
/scratch/a b: c.dat: hints given
  cb_nodez = 3, from ORATORIO_HINTS; not known, ignored
/scratch/a b: c.dat: collective write: method two_phase (it was asked for)
  what         aggregators collect data
  file domains even, 131072 bytes each
  cheaper is   list_io, 0.100 ms: another was asked for by name
  candidates   (estimated until the last rank is done)
    list_io                      0.100 ms
    mmap                         0.215 ms, left out: stores to a mapping may be lost
    two_phase                    0.250 ms
    data_shipping                does not apply: there are no agents
  number       1 of this file
/scratch/a b: c.dat: independent read: one piece of the file, moved at once; there is nothing to plan
  number       2 of this file
hint cb_nodez: it isn't known and is ignored; did you mean cb_nodes?
/scratch/a b: c.dat: number 1 was done 3 times more
hint cb_nodez: it isn't known and is ignored; did you mean cb_nodes?
/scratch/a b: c.dat: closed; what it took, all ranks together
  storage_calls 8 calls
Oratorio 0.2.0 saw 6 accesses to 2 files on rank 0
"""


def test_a_decision_has_its_reason_its_facts_and_all_candidates():
    told = explained.read(TOLD)
    write, read = told.decisions
    assert (write.path, write.access, write.method) == (
        "/scratch/a b: c.dat",
        "collective write",
        "two_phase",
    )
    assert write.why == "it was asked for"
    assert write.facts["file domains"] == "even, 131072 bytes each"
    assert write.facts["cheaper is"].startswith("list_io")
    assert [one.name for one in write.candidates] == ["list_io", "mmap", "two_phase", "data_shipping"]
    assert [one.milliseconds for one in write.candidates] == [0.1, 0.215, 0.25, None]
    assert write.candidates[1].reason == "left out: stores to a mapping may be lost"
    assert write.candidates[3].reason == "does not apply: there are no agents"
    assert (write.number, write.times) == (1, 4)
    assert (read.method, read.times) == ("at once", 1)


def test_remarks_are_told_once_and_the_last_line_is_read():
    told = explained.read(TOLD)
    assert told.remarks == ["hint cb_nodez: it isn't known and is ignored; did you mean cb_nodes?"]
    assert (told.version, told.saw, told.off) == ("0.2.0", (6, 2), False)
    assert explained.read("oratorio: Oratorio is off (ORATORIO_DISABLE): the host's MPI-IO does all\n").off
    assert explained.read("").saw is None


def test_which_locks_are_used_is_told_once_for_all_files():
    seen = "nfs: locks are visible on other nodes; using the file system's locks"
    lacking = (
        "smb: locks deny accesses, also of their owner; using the job's locks, which can't be had: "
        "atomic mode fails, and holes are never filled"
    )
    told = explained.read(f"/a b: c: {seen}\noratorio: /d: {seen}\n/e: {lacking}\n")
    assert told.locks == [seen, lacking]
    assert told.remarks == []


def test_what_came_on_standard_error_is_read_alike():
    lines = [line if line.startswith("  ") else f"oratorio: {line}" for line in TOLD.splitlines()]
    assert explained.read("\n".join(lines)) == explained.read(TOLD)


def test_numbers_begin_anew_at_each_open():
    one = "a: independent write: method list_io (cheapest)\n  number       1 of this file\n"
    told = explained.read(
        one + "a: number 1 was done 1 time more\n" + one + "a: number 1 was done 4 times more\n"
    )
    assert [decision.times for decision in told.decisions] == [2, 5]


def test_all_that_the_library_writes_of_plans_is_read():
    """explain.golden has plans of every kind; a plan there lacks the file's name."""
    text = re.sub(r"^(collective|independent) ", r"file: \1 ", GOLDEN.read_text(), flags=re.MULTILINE)
    told = explained.read(text)
    assert len(told.decisions) == len(
        re.findall(r"^(?:collective|independent) \w+: method", GOLDEN.read_text(), re.M)
    )
    known = set(method_table.methods())
    for decision in told.decisions:
        assert decision.method in known and decision.why
        assert {one.name for one in decision.candidates} <= known
        assert len(decision.candidates) >= 20
        for one in decision.candidates:
            assert one.milliseconds is not None or one.reason.startswith("does not apply: ")
