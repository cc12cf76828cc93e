# SPDX-License-Identifier: BSD-3-Clause
"""Tests the library's tables as JSON: the keys are those of the stability page; a bad file is one error."""

import json
import re
import subprocess
from xml.etree import ElementTree

import pytest

from oratorio import __version__
from oratorio.errors import OratorioError
from oratorio.library import description
from oratorio.paths import ROOT

PARTS = {"request", "domains", "graph", "exchange", "layers", "storage", "read_ahead"}
SCHEDULE = {"slots", "io_thread", "aggregators_max", "all_aggregate", "slot_is_block", "by_place", "in_turns"}
KEYS = {
    "methods": {"name", "description", "automatic", "parts", "schedule"},
    "hints": {"key", "role", "description"},
    "costs": {"name", "memory", "disk", "server", "description"},
    "counters": {"name", "unit", "description"},
    "activities": {"name", "category", "description"},
    "variables": {"name"},
    "site_variables": {"name", "from", "used", "ours", "effect"},
    "file_systems": {"name", "storage"},
}
OF_ROLES = {
    "acts": {"kind", "default"},
    "kept": {"kind", "default"},
    "synonym": {"target"},
    "means": {"value", "target", "target_value"},
    "reported": set(),
    "accepted": set(),
}
OF_KINDS = {
    "bytes": {"low", "high"},
    "integer": {"low", "high"},
    "octal": {"low", "high"},
    "memory": {"low"},
    "toggle": {"words"},
    "boolean": {"words"},
    "choice": {"words"},
    "method": set(),
    "config_list": set(),
    "rank_list": set(),
}


def test_the_document_has_the_tables_and_this_version():
    document = description.read()
    assert list(document) == ["schema", "version", *KEYS]
    assert (document["schema"], document["version"]) == (1, __version__)
    assert all(document[table] for table in KEYS)


@pytest.mark.parametrize("table", [table for table in KEYS if table != "hints"])
def test_every_row_has_the_keys_of_its_table(table):
    for row in description.rows(table):
        assert set(row) == KEYS[table]


def test_every_method_names_all_its_parts():
    for row in description.rows("methods"):
        assert set(row["parts"]) == PARTS and set(row["schedule"]) == SCHEDULE


def test_every_hint_has_the_keys_of_its_role_and_kind():
    for row in description.rows("hints"):
        expected = KEYS["hints"] | OF_ROLES[row["role"]] | OF_KINDS.get(row.get("kind"), set())
        assert set(row) == expected, row["key"]


def test_the_page_documents_every_member_key_and_role():
    page = (ROOT / "docs/user/stability.md").read_text()
    named = {"schema", "version", *KEYS, *PARTS, *SCHEDULE, *OF_ROLES}
    named |= set().union(*KEYS.values(), *OF_ROLES.values(), *OF_KINDS.values())
    assert {name for name in named if f"`{name}`" not in page} == set()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "can't be read (No such file or directory)"),
        ("{", "isn't JSON"),
        (json.dumps({"schema": 2}), "has schema 2, but this program reads 1"),
    ],
)
def test_a_file_that_can_t_be_used_is_an_error_with_a_remedy(text, reason, tmp_path):
    file = tmp_path / "description.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(OratorioError) as error:
        description.read(file)
    said = str(error.value)
    assert reason in said and "git checkout cli/oratorio/library/description.json" in said


@pytest.mark.parametrize("maker", ["hints_doc.py", "environment_doc.py"])
def test_generated_pages_are_current_and_need_no_more_than_any_python(maker):
    command = ["/usr/bin/python3", ROOT / "dev/generate" / maker, "--check"]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize("page", ["hints.md", "environment.md"])
def test_pages_list_the_sources_of_hints_in_the_library_s_order(page):
    source = (ROOT / "src/hints/hint_sources.cpp").read_text()
    body = source.partition("by_strength(")[2].partition("\n}\n")[0]
    variables = re.findall(r"\{\"([A-Z_]+)(?: or [^\"]*)?\"", body)
    assert variables[0] == "ROMIO_HINTS" and variables[-1] == "ORATORIO_HINTS"
    listed = (ROOT / "docs/user" / page).read_text().partition("the later one in this list counts:")[2]
    assert re.findall(r"`([A-Z]+_[A-Z_]+)`", listed.partition(" the program's info")[0]) == variables


def test_no_page_has_an_empty_table():
    empty = re.compile(r"^\|[-: |]+\n(?!\|)", re.MULTILINE)
    assert [page for page in (ROOT / "docs").rglob("*.md") if empty.search(page.read_text())] == []


def test_the_page_of_variables_has_those_of_the_library():
    page = (ROOT / "docs/user/environment.md").read_text()
    rows = re.findall(r"^\| `(ORATORIO_\w+)`", page, re.MULTILINE)
    assert sorted(rows) == sorted(description.names("variables"))


def test_every_method_has_a_picture_and_the_page_shows_it():
    pictures = {file.stem: file for file in (ROOT / "docs/user/images/methods").glob("*.svg")}
    assert sorted(pictures) == sorted(description.names("methods"))
    page = (ROOT / "docs/user/methods.md").read_text()
    for name, file in pictures.items():
        assert ElementTree.parse(file).find("{http://www.w3.org/2000/svg}title").text == name
        assert page.count(f"(images/methods/{name}.svg)") == 1
