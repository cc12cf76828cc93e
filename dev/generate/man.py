#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/user/man/oratorio.1 from the commands' own options; --check reports whether it is current."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("cli", "lab", "dev")]

from generated import keep

from oratorio import __version__, command_line
from oratorio.errors import EXIT_CODES

PAGE = ROOT / "docs/user/man/oratorio.1"
HEAD = r""".\" Made by dev/generate/man.py; edit the commands' options instead.
.TH ORATORIO 1 "" "Oratorio {version}" "User Commands"
.SH NAME
oratorio \- the MPI I/O chapter as a library of its own, over any MPI
.SH SYNOPSIS
{synopsis}.SH DESCRIPTION
Programs linked to MPICH, Open MPI or an MPI of the MPI-5 ABI run unchanged; their calls of MPI_File_* go to Oratorio.
"""
OTHERS = r""".SH OTHER COMMANDS
All others (bench, simulate, test, ...) need a checkout.
"""
TAIL = r""".SH ENVIRONMENT
.TP
.B ORATORIO_DISABLE=1
makes every call go to the host's own MPI-IO
.TP
.B ORATORIO_METHOD, ORATORIO_HINTS, ORATORIO_EXPLAIN, ORATORIO_QUIET
set the method, hints, explanations and silence without command-line options; all variables are in docs/user/environment.md
.SH FILES
Only requested files are written, except that
.I $XDG_CACHE_HOME/oratorio
holds a link to the library, if LD_PRELOAD cannot hold the library's own path, and the rules that conformance has compiled.
"""


def escaped(text: str) -> str:
    """Escapes plain text so that roff shows it unchanged."""
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")


def exit_status() -> str:
    """Returns the section about exit codes."""
    text = ".SH EXIT STATUS\n"
    for code, (of_run, of_compare, of_others) in EXIT_CODES.items():
        said = {"run, explain": of_run, "compare": of_compare, "others": of_others}
        line = "; ".join(f"{who}: {meaning}" for who, meaning in said.items() if meaning)
        text += f".TP\n.B {escaped(code)}\n{escaped(line.replace('`', ''))}\n"
    return text


def page() -> str:
    """Returns the manual page."""
    synopsis, body = "", ""
    for name, command in command_line.COMMANDS.items():
        parser = command_line.parser_of(name, command)
        taken = "".join(f" {action.metavar}" for action in parser._actions if not action.option_strings)
        synopsis += f".B oratorio {name}\n[OPTION]...{taken}\n.br\n"
        body += f".SS {name}\n{escaped(parser.description)}\n"
        for action in parser._actions:
            if action.help == argparse.SUPPRESS:
                continue
            words = ", ".join(action.option_strings) or action.metavar
            value = (
                ""
                if action.nargs is not None or action.const
                else f" {action.metavar or action.dest.upper()}"
            )
            body += f".TP\n.B {escaped(words + (value if action.option_strings else ''))}\n{escaped(action.help % vars(action))}\n"
    return (
        HEAD.format(version=__version__, synopsis=synopsis)
        + ".SH COMMANDS\n"
        + body
        + OTHERS
        + exit_status()
        + TAIL
    )


if __name__ == "__main__":
    sys.exit(keep(PAGE, page()))
