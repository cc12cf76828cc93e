# SPDX-License-Identifier: BSD-3-Clause
"""Tests the command line: help, errors and exit codes of all commands. Those that start jobs load little, and
read programs without the tools of a compiler."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oratorio import command_line
from oratorio.errors import REFUSED, OratorioError
from oratorio.launch import programs
from oratorio.launch.elf import Elf

ROOT = Path(__file__).resolve().parents[2]
PYTHONPATH = ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))


@pytest.fixture
def call(tmp_path):
    """Returns call(word...), which runs the command in a checkout with an empty library."""
    shutil.copytree(ROOT / "cli/oratorio", tmp_path / "cli/oratorio")
    (tmp_path / "build/lib").mkdir(parents=True)
    (tmp_path / "build/lib/liboratorio.so").touch()

    def run(*words, **environ) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "PYTHONPATH": ":".join(str(tmp_path / name) for name in ("cli", "lab", "dev")),
            **environ,
        }
        command = [sys.executable, "-m", "oratorio", *words]
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)

    return run


COMMANDS = {name: command for table in command_line.tables().values() for name, command in table.items()}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_help(name, option, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.call([*name.split(), option])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: oratorio {name} [-h]")
    assert " ".join(COMMANDS[name].help.split()) in " ".join(told.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_option_is_one_line_and_2(name, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.call([*name.split(), "--no-such-option"])
    assert ended.value.code == REFUSED
    told = capsys.readouterr().err
    assert told.startswith("oratorio: ") and told.endswith(f"; see oratorio {name} --help\n")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["no-such-command"],
        ["report", "no-such-file"],
        ["trace", "no-such-file"],
        ["run", "--method", "no-such-method", "true"],
        ["bench", "tile", "--mpi", "no-such-mpi"],
        ["simulate", "--engine", "steam"],
        ["conformance", "no-such-launcher"],
        ["demo", "--mpi", "no-such-mpi"],
        ["fuzz", "no-such-target"],
    ],
)
def test_an_error_is_one_sentence_and_2(words, capsys):
    assert command_line.call(words) == REFUSED
    out, told = capsys.readouterr()
    assert out == "" and told.startswith("oratorio: ") and told.count("\n") == 1, told


def test_an_error_may_have_an_exit_code_of_its_own(monkeypatch, capsys):
    class GuestError(OratorioError):
        exit_code = 1

    def refuse(*words):
        raise GuestError("the guest did not come up")

    monkeypatch.setattr(command_line, "parser_of", refuse)
    assert command_line.call(["info"]) == 1
    assert capsys.readouterr().err == "oratorio: the guest did not come up\n"


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_the_overview_lists_all_commands(words, capsys):
    assert command_line.call(words) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {name} " in told for name in COMMANDS)
    headings = [line for line in told.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == [f"{group}:" for group in command_line.GROUPS]


def test_the_page_of_stable_interfaces_promises_all_commands_of_an_installation():
    page = (ROOT / "docs/user/stability.md").read_text()
    row = re.search(r"^\| commands of an installation \|(.*)\|$", page, re.MULTILINE)[1]
    assert sorted(re.findall(r"`(\w+)`", row)) == sorted(command_line.COMMANDS)
    documents = page.partition("\n## Results as JSON\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", documents, re.MULTILINE)) <= {"command", *command_line.COMMANDS}


def test_an_installation_has_groups_of_its_own_commands(monkeypatch):
    monkeypatch.setattr(command_line, "IS_INSTALLED", True)
    groups = command_line.tables()
    assert {name for table in groups.values() for name in table} == set(command_line.COMMANDS)
    assert list(groups) == ["use", "inspect", "measure"]


@pytest.mark.parametrize(
    "words", [["env"], ["run", "--help"], ["conformance", "--help"], ["--help"], ["--version"]]
)
def test_a_job_starts_with_python_alone(words):
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "oratorio", *words],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    loaded = {line.split("|")[-1].strip().partition(".")[0] for line in told.stderr.splitlines()}
    assert "oratorio" in loaded
    assert not loaded & {"typer", "click", "rich", "numpy", "matplotlib", "pytest"}


def test_words_behind_the_command_belong_to_it(call):
    done = call("run", "--dry-run", "-q", "echo", "--dry-run", "--method", "x", "--", "-q")
    assert done.stdout.endswith("echo --dry-run --method x -- -q\n"), done.stderr
    assert call("run", "--dry-run", "-q", "--", "echo", "a").stdout.endswith("echo a\n")


@pytest.mark.parametrize("words", [["run"], ["run", "--no-such", "echo"], ["run", "--method", "no", "true"]])
def test_rejected_requests_exit_with_2(call, words):
    done = call(*words)
    assert done.returncode == REFUSED
    assert done.stderr.startswith("oratorio: ") and done.stderr.count("\n") == 1


def compiled(folder: Path, text: str, *flags: str) -> Path:
    (folder / "a.c").write_text(text)
    subprocess.run(["cc", "-o", folder / "a", folder / "a.c", *flags], check=True)
    return folder / "a"


def test_needed_libraries_are_read_from_the_program(tmp_path):
    program = compiled(
        tmp_path, "int f(void) { return 0; } int main(void) { return f(); }", "-lm", "-Wl,--no-as-needed"
    )
    told = subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout
    elf = Elf(program)
    assert elf.needed() == [line.split("[")[1][:-1] for line in told.splitlines() if "(NEEDED)" in line]
    assert "ld-linux" in elf.interpreter() or "/ld" in elf.interpreter()
    assert elf.defines("f") and not elf.defines("puts") and not elf.defines("g")
    assert not Elf(compiled(tmp_path, "int main(void) { return 0; }", "-static")).interpreter()


def test_a_damaged_file_is_reported_without_an_exception(tmp_path):
    whole = compiled(tmp_path, "int main(void) { return 0; }").read_bytes()
    for length in (4, 5, 60, 100, 1000, len(whole) - 64):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert programs.needs_of(tmp_path / "cut").flavour is None
    for place in range(16, 64):
        (tmp_path / "odd").write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        assert programs.needs_of(tmp_path / "odd").flavour is None


def test_no_tool_of_a_compiler_is_needed(call, tmp_path):
    program = compiled(tmp_path, "int main(void) { return 0; }")
    done = call("run", "--dry-run", str(program), PATH="/nonexistent")
    assert done.returncode == 0 and "it is not linked to an MPI" in done.stderr


def test_the_manual_page_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "dev/generate/man.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", command_line.ONLY_IN_CHECKOUT)
def test_an_installation_says_why_it_lacks_a_command(name, call, tmp_path):
    (tmp_path / "cli/oratorio/installed").mkdir()
    (tmp_path / "cli/oratorio/installed/libraries").write_text("lib\n")
    done = call(name)
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert done.stderr.startswith(f"oratorio: {name} needs a checkout of Oratorio and a compiler: it ")
    assert done.stderr.endswith(f"run ./oratorio {name}\n")


def test_every_command_of_a_checkout_in_the_overview_exists():
    assert set(command_line.ONLY_IN_CHECKOUT) < set(COMMANDS)
    assert all(f" {name}," in command_line.NEEDS_CHECKOUT for name in command_line.ONLY_IN_CHECKOUT)


def aliases_of_types(source):
    """Yields the assignments that join a type and None by |, which Python 3.9 can't."""
    for node in ast.walk(ast.parse(source)):
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
            ends = (value.left, value.right)
            if any(isinstance(end, ast.Constant) and end.value is None for end in ends):
                yield ast.unparse(node)


def test_installed_modules_can_be_imported_by_python_3_9():
    assert list(aliases_of_types("Kind = int | None")) == ["Kind = int | None"]
    files = (ROOT / "cli/oratorio").rglob("*.py")
    assert {str(file): found for file in files if (found := list(aliases_of_types(file.read_text())))} == {}
