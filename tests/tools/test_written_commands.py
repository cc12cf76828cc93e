# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the command lines on the pages are valid: the parser of their command reads them, and nothing
runs."""

import re
import shlex
from pathlib import Path

import pytest
from test_vocabulary import options_of

from oratorio import command_line
from oratorio.errors import OratorioError

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("cli", "dev", "docs", "lab", "packaging", "src", "tests")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")),
]
COMMAND = r"(?:\w+=\S+ )*(?:\./)?oratorio\s+"
LINE = re.compile(rf"^ *(?:\$ )?{COMMAND}(.+)$", re.MULTILINE)
SPAN = re.compile(rf"(?<!`)`{COMMAND}([^`]+)`(?!`)")
# A word in capitals, such as RANKS/16, stands for what the reader chooses.
PLACEHOLDER = re.compile(r"[A-Z]+(/\d+)?")
CHOSEN = {"WORKLOAD": "tile", "SHELL": "bash", "PART": "unit"}  # for all others a number
# What a parser says if words are missing at the end, as they may be in running text.
INCOMPLETE = ("a command is missing", "arguments are required", "expected one argument")


def words_of(text: str) -> list[str]:
    """Returns the words of a command line before a comment, a pipe and the like."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((at for at, word in enumerate(words) if set(word) <= set("();<>|&")), len(words))
    return [CHOSEN.get(word, "16") if PLACEHOLDER.fullmatch(word) else word for word in words[:end]]


def complaint(text: str, capsys, is_whole: bool = True) -> str:
    """Returns what is wrong with the words after `oratorio`; empty if nothing is."""
    words = words_of(text)
    if words[0] in ("-h", "--help", "--version"):
        return ""
    try:
        name, command = command_line._find(words)
    except OratorioError as error:
        return str(error)
    parser, rest = command_line.parser_of(name, command), words[len(name.split()) :]
    try:
        parser.parse_args(rest)
    except SystemExit as ended:
        if ended.code == 0:
            return ""
    said = capsys.readouterr().err
    if is_whole or not any(part in said for part in INCOMPLETE):
        return said
    known = {option for action in options_of(parser) for option in action.option_strings}
    return " ".join(word for word in rest if word.startswith("-") and word not in known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_on_a_page_are_valid(page, capsys):
    text = page.read_text().replace("\\\n", " ")
    found = [(line, complaint(line, capsys)) for line in LINE.findall(text)]
    found += [(span, complaint(span, capsys, False)) for span in SPAN.findall(text)]
    assert [(words, wrong) for words, wrong in found if wrong] == []


@pytest.mark.parametrize(
    "text",
    ["bench cyclic --block 16", "compare --methods sieve app", "run --wrong app", "no-such", "explain --al"],
)
def test_invalid_commands_are_noticed(text, capsys):
    assert complaint(text, capsys) and complaint(text, capsys, False)


def test_incomplete_commands_are_valid_in_running_text_only(capsys):
    for text in ("run", "bench --predict", "simulate --trace"):
        assert complaint(text, capsys) and not complaint(text, capsys, False)


def test_comments_and_what_follows_a_command_are_left_out():
    assert words_of("run 'a b' ./app  # a comment") == ["run", "a b", "./app"]
    assert words_of("compare --json ./app > FILE") == ["compare", "--json", "./app"]
    assert words_of("bench WORKLOAD --ranks RANKS/16; done") == ["bench", "tile", "--ranks", "16"]
