# SPDX-License-Identifier: BSD-3-Clause
"""Tests how `oratorio clients` judges made-up output; real clients are tested in tests/programs."""

import fcntl
import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from oratorio.command_line import Parser
from oratorio.errors import OratorioError
from oratorio.launch.hosts import Host
from oratorio.paths import ROOT
from oratorio_lab import targets
from oratorio_lab.clients import agent, checks, command, kinds, rig

NOWHERE = Path("/nowhere")


def host_of(name: str, flavour: str) -> Host:
    return Host(name, flavour, NOWHERE, NOWHERE, NOWHERE, "1.0", "hydra")


def test_a_count_that_is_not_zero_is_wrong_and_named():
    verdict = checks.judge_counts(1, "write: 0 wrong of 9, 1.0 ms\natomic: 12 wrong of 40, 3.0 ms\n")
    assert verdict == checks.Verdict(False, "atomic 12 of 40")


@pytest.mark.parametrize(
    ("code", "output", "told"),
    [
        (0, "", "ended with 0"),
        (124, "write: 0 wrong of 9, 1.0 ms\n", "still running at its time limit"),
        (15, "write: 0 wrong of 9, 1.0 ms\nrank 1: read: Input/output error\n", "Input/output error"),
    ],
)
def test_a_program_that_fails_is_wrong_regardless_of_its_counts(code, output, told):
    verdict = checks.judge_counts(code, output)
    assert not verdict.is_right
    assert told in verdict.detail


def test_counts_of_zero_are_right():
    assert checks.judge_counts(0, "a: 0 wrong of 9\nb: 0 wrong of 1\n") == checks.Verdict(True, "0 wrong (2)")


def test_broken_rules_are_named_and_an_early_end_is_wrong():
    told = "broken atomic-overlap (14.6.1): wrong 3 bytes\nkept 55\n"
    assert checks.judge_rules(0, told) == checks.Verdict(False, "atomic-overlap")
    assert checks.judge_rules(0, "kept 56\n") == checks.Verdict(True, "56 kept")
    assert not checks.judge_rules(1, "kept 56\n").is_right
    assert not checks.judge_rules(0, "").is_right


def test_the_oracle_is_right_only_if_all_its_programs_ran_and_none_failed():
    said = "seeds 1 to 200: 200 programs with 10465 accesses, {} failed\n"
    assert checks.judge_oracle(0, said.format(0)) == checks.Verdict(True, "0 of 200 wrong")
    assert checks.judge_oracle(1, said.format(3)) == checks.Verdict(False, "3 of 200 wrong")
    assert not checks.judge_oracle(1, said.format(0)).is_right
    assert not checks.judge_oracle(1, "assertion failed\n").is_right


def test_files_that_differ_between_views_are_named():
    told = f"45 files\n3c3\n< {'0' * 64}  ./loss/write.1\n---\n> {'1' * 64}  ./loss/write.1\n"
    assert checks.judge_views(1, told) == checks.Verdict(False, "./loss/write.1")
    assert checks.judge_views(0, "45 files\n") == checks.Verdict(True, "45 files")


def test_a_row_takes_the_place_of_the_older_one_of_its_kind_in_the_order_of_the_kinds():
    page = f"before\n{command.BEGIN}old\n| `9p` | old |\n| `ocfs2` | old |\n{command.END}after\n"
    made = command.page_with(page, {"ocfs2": "| `ocfs2` | new |\n"}, "machine\n")
    rows = [line for line in made.splitlines() if line.startswith("| `")]
    assert rows == ["| `ocfs2` | new |", "| `9p` | old |"]
    assert made.startswith("before\n")
    assert made.endswith("after\n")


def test_every_kind_has_packages_and_a_script():
    for kind in kinds.KINDS:
        assert kind.layer in kinds.PACKAGES
        assert (rig.SETUP / f"{kind.script}.sh").exists()
    with pytest.raises(OratorioError, match="ocfs2"):
        kinds.find_kind("unknown")


def test_the_disk_of_the_tests_is_no_kind_of_clients():
    with pytest.raises(OratorioError, match="no kind named disk"):
        kinds.find_kind(kinds.DISK.name)


@pytest.mark.parametrize(
    ("name", "flavour", "program"),
    [("mpich5", "mpich", "mpich5"), ("mpich4", "mpich", "mpich5"), ("openmpi4", "ompi", "ompi5")],
)
def test_an_mpi_runs_the_oracle_of_the_newest_one_with_its_abi(name, flavour, program, monkeypatch):
    monkeypatch.setattr(targets, "build", lambda target, folder: Path(folder) / target)
    host = host_of(name, flavour)
    checks.require(host)
    assert checks._oracle(host) == Path(f"tests/mpi/mpi_oracle_programs_{program}")


def test_an_mpi_without_an_oracle_is_refused_before_anything_starts(monkeypatch):
    monkeypatch.setattr(command, "find_host", lambda name: host_of(name, "abi"))
    monkeypatch.setattr(command, "_run_one", lambda *given: pytest.fail("the clients were started"))
    with pytest.raises(OratorioError, match="abi can't run the checks"):
        command.run(["nfs"], command.Choice("abi", 1), with_write=False)


def test_a_lock_that_the_first_client_does_not_get_is_reported(tmp_path):
    file = tmp_path / "file"
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        words = [sys.executable, rig.HERE / "locks.py", "look", file, file]
        told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    assert told.splitlines() == ["posix yes", "OFD yes", "flock refused (Resource temporarily unavailable)"]
    assert checks.judge_locks(0, told).detail == "yes / yes / refused (Resource temporarily unavailable)"


def test_a_check_that_does_not_exist_is_refused(capsys):
    parser = Parser(prog="oratorio clients")
    command.add_options(parser)
    assert parser.parse_args(["nfs", "--only", "locks", "--only", "kill-atomic"]).only[1] == "kill-atomic"
    with pytest.raises(SystemExit):
        parser.parse_args(["nfs", "--only", "lock"])
    assert "'kill-lock'" in capsys.readouterr().err


def test_a_command_of_its_own_runs_on_each_kind_and_gives_its_exit_code(monkeypatch, capsys):
    ran = []

    class FakeClients:
        def __init__(self, kind, folder):
            self.kind, self.folder = kind, folder

        def launcher(self, host):
            return ["mpiexec", "-n", "4", "a b"]

        def run(self, command, seconds, watch):
            ran.append((self.kind.name, command, seconds))
            (self.folder / "output").write_text("so f")
            watch(self.folder)
            (self.folder / "output").write_text("so far\n")
            watch(self.folder)
            return rig.Ended(3 if self.kind.name == "nfs" else 0, "", self.folder)

    monkeypatch.setattr(command, "find_host", lambda mpi: host_of(mpi, "mpich"))
    monkeypatch.setattr(command, "Clients", FakeClients)
    assert command.run_command(["gluster", "nfs", "moose"], "echo so far", "mpich5", 7) == 3
    assert [one[0] for one in ran] == ["gluster", "nfs", "moose"]
    lines = ran[0][1].splitlines()
    told = subprocess.run(
        ["sh", "-c", lines[0] + "; pwd; echo $LAUNCH"], capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == [str(ROOT), "mpiexec -n 4 'a b'"]
    assert lines[1:] == ["echo so far"]
    assert ran[0][2] == 7
    assert capsys.readouterr().out == 3 * "so far\n"


def test_a_command_of_its_own_replaces_the_checks():
    parser = Parser(prog="oratorio clients")
    command.add_options(parser)
    for more in (["--write"], ["--only", "locks"]):
        options = parser.parse_args(["nfs", "--run", "true", *more])
        with pytest.raises(OratorioError, match="replaces the checks"):
            options.does(options)


def test_the_names_of_the_checks_are_those_that_run(monkeypatch):
    host = host_of("mpich5", "mpich")
    clients = SimpleNamespace(kind=kinds.find_kind("nfs"), launcher=lambda host: ["mpiexec"])
    monkeypatch.setattr(targets, "build", lambda *given: NOWHERE)
    monkeypatch.setattr(targets, "compile_program", lambda *given: NOWHERE)
    monkeypatch.setattr(checks.conformance, "build", lambda mpicc: None)
    run = [*checks.checks_of(clients, host, 1), *checks.kills_of(clients, host)]
    assert tuple(check.name for check in run) == command.CHECKS


@pytest.fixture
def served():
    """Returns served(command), which passes a shell command to the agent and returns the connection. In the
    end the agent must be done with all commands."""
    threads = []

    def start(command: str) -> socket.socket:
        ours, its = socket.socketpair()
        threads.append(threading.Thread(target=agent.serve, args=(its,), daemon=True))
        threads[-1].start()
        ours.settimeout(30)
        ours.sendall(f"{len(command)}\n{command}".encode())
        return ours

    yield start
    for one in threads:
        one.join(30)
        assert not one.is_alive()


def test_the_agent_sends_the_output_and_the_exit_code(served):
    connection = served("echo out; echo err >&2; exit 3")
    with connection, connection.makefile("rb") as stream:
        assert stream.read() == b"out\nerr\n\x003"


@pytest.mark.parametrize(
    "silent",
    [
        "sleep 100 & wait",
        "exec >&- 2>&-; sleep 100 & wait",
        "setsid sleep 100 & wait",
        "(sleep 100 &); sleep 100",
    ],
)
def test_all_that_a_silent_command_has_started_ends_with_its_connection(silent, served, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Every process of the command holds the pipe, so the pipe ends when all have ended.
    connection = served(f"exec 9>{pipe}; echo started >&9; {silent}")
    with pipe.open("rb", buffering=0) as held:
        assert held.readline() == b"started\n"
        connection.close()
        assert select.select([held], [], [], 30)[0]
        assert held.read() == b""


def test_a_process_that_starts_while_the_others_are_listed_ends_too(served, tmp_path, monkeypatch):
    go, pipe = tmp_path / "go", tmp_path / "pipe"
    os.mkfifo(go)
    os.mkfifo(pipe)
    look = agent._tree

    def look_and_let_start(root: int) -> set[int]:
        seen = look(root)
        if not go_on.closed:
            go_on.close()
            time.sleep(1)
        return seen

    monkeypatch.setattr(agent, "_tree", look_and_let_start)
    connection = served(f"exec 9>{pipe}; echo started >&9; read line <{go}; setsid sleep 100 & wait")
    with pipe.open("rb", buffering=0) as held, go.open("wb") as go_on:
        assert held.readline() == b"started\n"
        connection.close()
        assert select.select([held], [], [], 30)[0]
        assert held.read() == b""
