# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the drawings of the developers' pages name only what is in src/."""

import re

import pytest

from oratorio.paths import ROOT

PAGES = (
    "docs/internals/architecture.md",
    "docs/internals/state-machines.md",
    "src/README.md",
    "docs/internals/glossary.md",
    "docs/internals/README.md",
)
TEXTS = {
    file.relative_to(ROOT / "src").as_posix(): file.read_text()
    for file in sorted((ROOT / "src").rglob("*"))
    if file.suffix in (".cpp", ".hpp", ".def")
}
WORDS = set(re.findall(r"\w+", "\n".join(TEXTS.values())))
NAME = re.compile(
    r"\b(?:[A-Z]\w*[a-z]\w*|bind)::\w+|\b(?=\w*[a-z])(?:[A-Z]\w*[A-Z_]\w*|[a-z]+_\w+)\b|\b\w+(?=\(\))"
)
ROOMS = "|".join(sorted({name.split("/")[0] for name in TEXTS}))
FILE = re.compile(rf"\b(?:src|{ROOMS})/[\w/.]*\w")


def drawings(text: str) -> list[str]:
    """Returns the code blocks of a page that have no language."""
    return re.findall(r"^```\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def is_file(name: str) -> bool:
    """Returns true if the name is that of a file or a folder of src/, with or without its suffix."""
    path = ROOT / "src" / name.removeprefix("src/")
    return path.exists() or any(path.parent.glob(path.name + ".*"))


def is_name(name: str) -> bool:
    """Returns true if src/ has the name. For `A::b`, one file must have both."""
    scope, _, last = name.rpartition("::")
    if not scope:
        return last in WORDS
    both = re.compile(rf"\b{scope}\b.*\b{last}\b|\b{last}\b.*\b{scope}\b", re.DOTALL)
    return any(both.search(text) for text in TEXTS.values())


def missing(text: str) -> list[str]:
    """Returns the names of files, classes and functions in a text that src/ doesn't have."""
    files = FILE.findall(text)
    names = NAME.findall(FILE.sub(" ", text))
    return [file for file in files if not is_file(file)] + [name for name in names if not is_name(name)]


@pytest.mark.parametrize("page", PAGES)
def test_each_name_in_a_drawing_is_in_src(page):
    assert [name for drawing in drawings((ROOT / page).read_text()) for name in missing(drawing)] == []


@pytest.mark.parametrize("page", PAGES)
def test_each_file_and_class_that_a_page_names_is_in_src(page):
    quoted = re.findall(r"`([^`\n]+)`", (ROOT / page).read_text())
    names = [text for text in quoted if re.fullmatch(rf"(?:{FILE.pattern}|[A-Z]\w*::\w+)(?:\(\))?", text)]
    assert [name for text in names for name in missing(text)] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_drawing_fits_into_120_columns(page):
    lines = [line for drawing in drawings((ROOT / page).read_text()) for line in drawing.splitlines()]
    assert [line for line in lines if len(line) > 120] == []


def test_the_path_of_a_collective_write_names_the_file_of_each_function():
    text = (ROOT / "docs/internals/architecture.md").read_text()
    rows = re.findall(r"^ *(\S+?)(?:\(\))? +(src/\S+)", "\n".join(drawings(text)), flags=re.MULTILINE)
    assert len(rows) > 15
    wrong = [
        (name, file)
        for name, file in rows
        if not re.search(rf"\b{name.split('::')[-1]}\b", TEXTS[file.removeprefix("src/")])
    ]
    assert wrong == []


def test_names_that_are_gone_are_reported():
    text = (
        "Run::step calls Run::hop, NoPhase, take_rounds; src/engine/run.cpp, engine/runs.cpp, file/operation"
    )
    assert missing(text) == ["engine/runs.cpp", "Run::hop", "NoPhase", "take_rounds"]
