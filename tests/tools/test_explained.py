# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the reader of explanations understands them as the library writes them."""

import json

import pytest

from oratorio.paths import ROOT
from oratorio.report import explained

PATH = "/scratch/a b: c.dat"
WRITE = {
    "kind": "access", "text": "written", "path": PATH, "number": 1, "collective": True, "direction": "write",
    "method": "two_phase", "why": "it was asked for",
    "facts": {"file domains": "even, 131072 bytes each", "cheaper is": "list_io, 0.100 ms: by name"},
    "candidates": [
        {"method": "list_io", "seconds": 1e-4, "reason": ""},
        {"method": "mmap", "seconds": 2.15e-4, "reason": "left out: stores to a mapping may be lost"},
        {"method": "two_phase", "seconds": 2.5e-4, "reason": ""},
        {"method": "data_shipping", "seconds": None, "reason": "there are no agents"},
    ],
    "bytes": 1 << 20, "ranks": 2, "took_seconds": 0.25, "mib_per_second": 4.0, "advice": "larger pieces",
}  # fmt: skip
READ = {
    "kind": "access", "text": "read\n", "path": PATH, "number": 2, "collective": False, "direction": "read",
    "method": None, "why": "there is nothing to plan", "facts": {}, "candidates": [],
}  # fmt: skip
AGAIN = {
    "kind": "repeated",
    "text": "again",
    "path": PATH,
    "number": 1,
    "times": 3,
    "bytes": 3 << 20,
    "took_seconds": 1,
}
MISSPELT = {"kind": "remark", "text": "hint cb_nodez: did you mean cb_nodes?"}
END = {"kind": "end", "text": "the end", "version": "0.2.0", "accesses": 6, "files": 2}
STRIPING = {
    "kind": "striping", "text": "few", "path": PATH, "sentence": "few", "bytes": 9, "targets": 1,
    "proposed": 4, "command": "lfs setstripe -c 4",
}  # fmt: skip
HINTS = {"kind": "hints", "text": f"{PATH}: hints"}
ACCOUNT = {
    "kind": "account", "text": f"{PATH}: closed; totals", "path": PATH, "counters": {"opens": 2},
}  # fmt: skip


def lines(*objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


TOLD = lines(HINTS, WRITE, READ, MISSPELT, AGAIN, MISSPELT, ACCOUNT, END)


def test_a_decision_has_its_reason_its_facts_and_all_candidates():
    write, read = explained.read(TOLD).decisions
    assert (write.path, write.access, write.method) == (PATH, "collective write", "two_phase")
    assert write.why == "it was asked for"
    assert write.facts["file domains"] == "even, 131072 bytes each"
    assert [one.name for one in write.candidates] == ["list_io", "mmap", "two_phase", "data_shipping"]
    assert [one.milliseconds for one in write.candidates] == [0.1, 0.215, 0.25, None]
    assert write.candidates[1].reason == "left out: stores to a mapping may be lost"
    assert write.candidates[3].reason == "does not apply: there are no agents"
    assert (write.number, write.times) == (1, 4)
    assert (read.access, read.method, read.times) == ("independent read", "at once", 1)


def test_remarks_appear_once_and_the_last_line_is_read():
    told = explained.read(TOLD)
    assert told.remarks == ["hint cb_nodez: did you mean cb_nodes?"]
    assert (told.version, told.saw, told.off) == ("0.2.0", (6, 2), False)
    assert explained.read(lines({"kind": "off", "text": "Oratorio is off"})).off
    assert explained.read("").saw is None


def test_lines_of_other_programs_are_remarks():
    told = explained.read(f"not JSON\n\n[1]\n{lines(READ)}")
    assert (told.remarks, len(told.decisions)) == (["not JSON", "[1]"], 1)


def test_the_other_lines_are_read_where_one_lacks_members():
    for lacking in ({"kind": "access"}, {**WRITE, "facts": []}, {"kind": "end"}, {"kind": "remark"}):
        with pytest.raises(
            explained.ExplainedError, match=r"explanations differ from .* in 1 line"
        ) as failed:
            explained.read(lines(WRITE, lacking, MISSPELT))
        told = failed.value.told
        assert (len(told.decisions), told.remarks) == (1, ["hint cb_nodez: did you mean cb_nodes?"])
    assert explained.text_of(lines({"kind": "remark"}, END)) == "\nthe end\n"


def test_a_text_may_have_characters_that_end_lines_elsewhere():
    path = "/s/a\u0085b\u2028c\u2029d.dat"
    told = explained.read(json.dumps({**WRITE, "path": path}, ensure_ascii=False) + "\n")
    assert ([one.path for one in told.decisions], told.remarks) == ([path], [])


def test_the_kind_of_locks_is_reported_once_for_all_files():
    seen, lacking = ({"kind": "locks", "text": "", "sentence": name} for name in ("seen", "lacking"))
    told = explained.read(lines({**seen, "path": "/c"}, {**seen, "path": "/d"}, {**lacking, "path": "/e"}))
    assert (told.locks, told.remarks) == (["seen", "lacking"], [])


def test_advice_on_striping_is_not_among_the_remarks():
    told = explained.read(lines(STRIPING))
    assert told.striping == [explained.Striping(PATH, 9, 1, 4, "lfs setstripe -c 4")]
    assert (told.remarks, told.opened) == ([], True)


def test_numbers_restart_at_each_open():
    once = {**AGAIN, "times": 1}
    told = explained.read(lines(WRITE, once, WRITE, {**AGAIN, "times": 4}))
    assert [decision.times for decision in told.decisions] == [2, 5]


def test_the_text_for_people_is_in_the_lines():
    assert explained.text_of(lines(WRITE, READ, END)) == "written\nread\nthe end\n"


def test_the_page_of_what_is_stable_documents_every_kind_and_key():
    page = (ROOT / "docs/user/stability.md").read_text()
    said = [WRITE, WRITE["candidates"][0], AGAIN, STRIPING, MISSPELT, END, HINTS, ACCOUNT]
    named = {"locks", "sentence", "off", *(one["kind"] for one in said if "kind" in one)}
    named |= {key for one in said for key in one}
    assert {name for name in named if f"`{name}`" not in page} == set()
