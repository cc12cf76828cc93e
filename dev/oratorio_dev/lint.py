# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio lint`: clang-format, ruff and dev/tidy.py over the whole checkout."""

import subprocess
import sys

from rich.console import Console

from oratorio.command_line import Parser
from oratorio.paths import PRIVATE, ROOT

CXX_FOLDERS = ("src", "tests", "cli", "lab", "dev", "packaging")
CXX_SUFFIXES = (".c", ".cpp", ".h", ".hpp")


def cxx_files() -> list[str]:
    """Returns the C and C++ files that clang-format checks, relative to the root."""
    files = (file for folder in CXX_FOLDERS for file in (ROOT / folder).rglob("*"))
    return sorted(str(file.relative_to(ROOT)) for file in files if file.suffix in CXX_SUFFIXES)


def checks(fix: bool) -> dict[str, list[str]]:
    """Returns name -> command; a command succeeds if it has no complaints."""
    ruff = str(PRIVATE / "venv/bin/ruff")
    python = ["--config", "dev/pyproject.toml", "cli", "lab", "dev", "tests", "packaging/fill.py"]
    clang = ["clang-format", "-i"] if fix else ["clang-format", "--dry-run", "-Werror"]
    return {
        "clang-format": [*clang, *cxx_files()],
        "ruff format": [ruff, "format", *([] if fix else ["--check"]), *python],
        "ruff check": [ruff, "check", *(["--fix"] if fix else []), *python],
        "tidy": [sys.executable, "dev/tidy.py"],
    }


def outcomes(fix: bool = False) -> dict[str, str]:
    """Returns name -> complaints, empty if there are none."""
    told = {}
    for name, command in checks(fix).items():
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        told[name] = (done.stdout + done.stderr).strip() if done.returncode else ""
    return told


def run(fix: bool) -> bool:
    """Prints one line per check, with its complaints below; returns whether no check complained."""
    console = Console(highlight=False)
    found = outcomes(fix)
    for name, complaints in found.items():
        console.print(f"{'[red]complains[/]' if complaints else '[green]clean[/]    '}  {name}")
        if complaints:
            console.print(complaints, markup=False, soft_wrap=True)
    return not any(found.values())


def add_options(parser: Parser) -> None:
    """Adds the options of `lint`."""
    parser.add_argument("--fix", action="store_true", help="Format the files, and correct what ruff can.")
    parser.set_defaults(does=lambda options: 0 if run(options.fix) else 1)
