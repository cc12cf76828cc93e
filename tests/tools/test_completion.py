# SPDX-License-Identifier: BSD-3-Clause
"""Tests the completion of the command line: the answers, and the scripts in bash, zsh and fish. Bash and zsh
run in a terminal of their own, and a test types there."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oratorio import command_line, completion
from oratorio.library import method_table

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 240


def offers(*words: str) -> list[str]:
    """Returns the offers of an answer, which must be of the kind `words`."""
    kind, *found = completion.answer(words)
    assert kind == "words"
    return found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("exp", ["explain"]),
        ("--v", ["--version"]),
        ("run --me", ["--method"]),
        ("run --method two_layer_s", ["two_layer_shared", "two_layer_shared_overlapped"]),
        ("run --method=two_layer_s", ["--method=two_layer_shared", "--method=two_layer_shared_overlapped"]),
        ("compare --method sieve,mma", ["sieve,mmap"]),
        ("run --hint cb_n", ["cb_nodes="]),
        ("run --hint a=b --dry", ["--dry-run"]),
        ("run --hints a=b --dry", ["--dry-run"]),
        ("run --hin", ["--hint"]),
        ("report trace.json --out", ["--output"]),
        ("bench coll", ["coll_perf"]),
        ("bench tile --overl", ["--overlap-x", "--overlap-y"]),
        ("conformance su", ["suites"]),
        ("conformance suites --sl", ["--slow"]),
        ("completion f", ["fish"]),
    ],
)
def test_words_are_offered(words, expected):
    found = offers(*words.split())
    assert [offer for offer in found if offer in expected] == expected
    assert all(offer.startswith(words.split()[-1]) for offer in found)
    if not expected[0].endswith(("shared", "=")):
        assert found == expected


def test_all_commands_and_methods_are_offered():
    names = {name.split()[0] for table in command_line.tables().values() for name in table}
    assert set(offers("")) == names | {"--help", "--version"}
    assert offers("run", "--method", "") == method_table.methods()


@pytest.mark.parametrize("name", [name for table in command_line.tables().values() for name in table])
def test_each_command_offers_its_options(name):
    assert {"-h", "--help"} <= set(offers(*name.split(), "-"))


@pytest.mark.parametrize(
    ("words", "place"),
    [("run mp", 1), ("run -q --hint a=b mpiexec -n 4 ./a", 4), ("conformance --long mpiexec -", 2)],
)
def test_a_job_has_completions_of_its_own(words, place):
    assert completion.answer(words.split()) == [f"command {place}"]


@pytest.mark.parametrize(
    "words", ["report tr", "report --output ", "report --output=a", "no-such a", "run --hint cb_nodes=4"]
)
def test_elsewhere_files_are_offered(words):
    assert completion.answer(words.split(" ")) == ["files"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """Returns a folder with a command `oratorio` in bin, the scripts, and a file."""
    command = tmp_path / "bin/oratorio"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m oratorio "$@"\n')
    command.chmod(0o755)
    for shell, script in completion.SCRIPTS.items():
        (tmp_path / f"completion.{shell}").write_text(script)
    (tmp_path / "some-trace.json").touch()
    return tmp_path


# What is typed before Tab -> the last word afterwards.
TYPED = {
    "oratorio expl": "explain ",
    "oratorio run --dry": "--dry-run ",
    "oratorio run --method=data_s": "--method=data_shipping ",
    "oratorio run --hint cb_nod": "cb_nodes=",
    "oratorio report some-t": "some-trace.json ",
    "oratorio run --hint a=b sha256s": "sha256sum ",
}
START = {
    "bash": ("bash --norc --noprofile -i", "PS1='ready> '; source completion.bash"),
    "zsh": ("zsh -f -i", "PS1='ready> '; autoload -U compinit; compinit -D; source completion.zsh"),
}


class Terminal:
    """A shell in a terminal, in which a test types."""

    def __init__(self, shell: str, folder: Path) -> None:
        command, first = START[shell]
        if not shutil.which(shell):
            pytest.skip(f"{shell} isn't installed")
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        python = ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))
        environ = {**os.environ, "PATH": path, "PYTHONPATH": python, "TERM": "dumb", "HOME": str(folder)}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(command.split()[0], command.split(), environ)
        self.type(f"{first}; echo started''.\r")
        self.read_until("started.")

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def read_until(self, expected: str) -> str:
        """Returns what the terminal shows from now on, as soon as it contains the text."""
        shown, end = "", time.monotonic() + SECONDS_MAX
        while expected not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\x07", "", shown):
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, shown
            shown += os.read(self.terminal, 4096).decode(errors="replace")
        return shown

    def close(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


@pytest.mark.parametrize("shell", START)
def test_a_shell_completes_what_is_typed(shell, folder):
    terminal = Terminal(shell, folder)
    try:
        for typed, becomes in TYPED.items():
            terminal.type(typed + "\t")
            terminal.read_until(typed.rsplit(" ", 1)[0] + " " + becomes)
            terminal.type("\x15")  # empties the line
    finally:
        terminal.close()


@pytest.mark.parametrize(("typed", "becomes"), TYPED.items())
def test_fish_offers_what_completes_a_line(typed, becomes, folder):
    if not shutil.which("fish"):
        pytest.skip("fish isn't installed")
    python = ":".join(str(ROOT / name) for name in ("cli", "lab", "dev"))
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source completion.fish; complete -C '{typed}'"],
        capture_output=True, text=True, timeout=SECONDS_MAX, cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": python, "HOME": str(folder)},
    )  # fmt: skip
    assert becomes.strip() in [line.partition("\t")[0] for line in done.stdout.splitlines()], done.stderr
