# SPDX-License-Identifier: BSD-3-Clause
"""Tests that options mean the same in all commands, by the table in docs/user/stability.md, and that old
names work."""

import argparse
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from oratorio import command_line
from oratorio.command_line import OLD_NAMES, Command, Parser
from oratorio_lab.bench.workloads import WORKLOADS

PAGE = Path(__file__).resolve().parents[2] / "docs/user/stability.md"

# The options of single commands, so that a second name for the same thing is noticed when it is added here.
OWN = {
    "bench": "calls cold delay direct disk distance figures full layout link malloc modes new overwrite "
    "param predict profile rate records smoke store sync workloads",
    "calibrate": "show topology",
    "clients": "run",
    "compare": "before budget output-files",
    "conformance": "broken long mpicc quick rule section slow suite with-oratorio",
    "demo": "cells steps",
    "doctor": "no-run",
    "fuzz": "keep seconds",
    "learned": "clear export",
    "lint": "fix",
    "mutations": "short",
    "neighbours": "fetch part",
    "run": "report",
    "simulate": "engine rounds search set switches trace workload",
    "soak": "atomic client clients deaths faults first fresh-views locks scarce",
    "trace": "markdown",
}


class Row(NamedTuple):
    """A row of the vocabulary."""

    values: set[str]
    old: tuple[str, ...]


def vocabulary() -> dict[str, Row]:
    """Returns the rows of the page's table by their options' last name."""
    section = PAGE.read_text().partition("\n## Options\n")[2].partition("\n## ")[0]
    found = {}
    for line in section.splitlines():
        if line.startswith("| `-"):
            names, values, _, old = (cell.strip() for cell in line.strip("|").split("|"))
            found[names.split("`")[-2]] = Row(
                set(re.findall(r"\w[\w=]*", values)), tuple(re.findall(r"`(.+?)`", old))
            )
    return found


def options_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Returns the visible options of a parser and of its subcommands, without --help."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [option for one in action.choices.values() for option in options_of(one)]
        elif action.option_strings and action.help != argparse.SUPPRESS and action.dest != "help":
            found.append(action)
    return found


def all_options() -> dict[str, list[argparse.Action]]:
    """Returns command -> its visible options. Parameters of workloads are left out: they have the names
    that the papers use."""
    parameters = {f"--{own.option}" for workload in WORKLOADS.values() for own in workload.parameters}
    found = defaultdict(list)
    for table in command_line.tables().values():
        for name, command in table.items():
            word = name.split()[0]
            own = parameters if word == "bench" else set()
            options = options_of(command_line.parser_of(name, command))
            found[word] += [option for option in options if option.option_strings[-1] not in own]
    return found


OPTIONS = all_options()
WORDS = vocabulary()


def test_the_vocabulary_has_the_options_that_several_commands_have():
    users = defaultdict(set)
    for command, options in OPTIONS.items():
        for option in options:
            users[option.option_strings[-1]].add(command)
    assert {name for name, commands in users.items() if len(commands) > 1} <= set(WORDS)
    assert set(WORDS) <= set(users)


@pytest.mark.parametrize("command", OPTIONS)
def test_other_options_are_those_that_a_command_has_of_its_own(command):
    own = {option.option_strings[-1] for option in OPTIONS[command]} - set(WORDS)
    assert own == {f"--{name}" for name in OWN.get(command, "").split()}


@pytest.mark.parametrize("command", OPTIONS)
def test_values_are_named_as_in_the_vocabulary(command):
    for option in OPTIONS[command]:
        if row := WORDS.get(option.option_strings[-1]):
            value = "none" if option.nargs == 0 else option.metavar or option.dest.upper()
            value = value.removesuffix(",...").removeprefix("[METHOD:]").partition(".")[0]
            assert value in row.values, option


def test_short_names_belong_to_one_option():
    short = defaultdict(set)
    for options in OPTIONS.values():
        for option in options:
            for name in option.option_strings:
                short[name].add(tuple(option.option_strings))
    assert {name: found for name, found in short.items() if len(found) > 1} == {}


def test_the_page_has_all_old_names():
    assert {name: row.old for name, row in WORDS.items() if row.old} == OLD_NAMES


@pytest.fixture
def parser():
    """Returns a parser of options with and without a value, and of a job."""
    made = Parser(prog="oratorio try")
    made.add_argument("--hint", action="append", default=[])
    made.add_argument("--repeat", type=command_line.within(1), default=3)
    command_line.add_job(made, "The job.")
    return made


def test_an_old_name_works_and_says_the_new_one_once(parser, capsys):
    words = ["--hints", "a=1", "--hint", "b=2", "--hints=c=3", "--repeats", "5", "echo", "--hints"]
    options = parser.parse_args(words)
    assert options.hint == ["a=1", "b=2", "c=3"] and options.repeat == 5
    assert options.command == ["echo", "--hints"]
    assert capsys.readouterr().err.splitlines() == [
        "oratorio: --hints is now called --hint; the old name will be removed",
        "oratorio: --repeats is now called --repeat; the old name will be removed",
    ]


def test_an_old_name_is_checked_as_the_new_one(parser, capsys):
    with pytest.raises(SystemExit):
        parser.parse_args(["--repeats", "0", "echo"])
    assert "--repeats: 0 is out of range" in capsys.readouterr().err


def test_help_shows_no_old_name(parser):
    text = parser.format_help()
    assert "--hint " in text and "--hints" not in text and "--repeats" not in text


@pytest.mark.parametrize(
    ("words", "dest", "value"),
    [
        ("compare --methods sieve --time-limit 7 --out a.html true", "output", Path("a.html")),
        ("doctor --time-limit 7", "timeout", 7.0),
        ("report --out a.html trace.json", "output", Path("a.html")),
        ("conformance --seconds 7 mpiexec", "timeout", 7),
        ("demo --host mpich4", "mpi", "mpich4"),
        ("bench tile --arms raw --repeats 2", "method", "raw"),
        ("bench tile --only read", "direction", "read"),
        ("bench paper 1995 --markdown a.md", "output", Path("a.md")),
        ("simulate --methods two_phase --hints a=b", "hint", ["a=b"]),
        ("fuzz --seconds 7", "seconds", 7),
        ("clients nfs --host mpich4 --only handles", "only", ["handles"]),
        ("test --only lint", "only", ["lint"]),
    ],
)
def test_command_lines_of_the_last_release_work(words, dest, value):
    name, *rest = words.split()
    commands: dict[str, Command] = {}
    for table in command_line.tables().values():
        commands |= table
    assert getattr(command_line.parser_of(name, commands[name]).parse_args(rest), dest) == value
