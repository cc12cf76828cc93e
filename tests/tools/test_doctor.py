# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio doctor`: each check finds what is wrong, and does not report what is right as wrong."""

import os
import re
import resource
from pathlib import Path

import pytest
from made_runs import collective, file, run
from test_command_line import call, compiled  # noqa: F401  call is a fixture
from test_report import MOUNTS, command

from oratorio.doctor import doctor, machine
from oratorio.doctor.doctor import BAD, NOTE, OK
from oratorio.launch.programs import Needs
from oratorio.library import hint_names, hint_text
from oratorio.report import explained

ROOT = Path(__file__).resolve().parents[2]


def states(found):
    return [(one.state, one.about) for one in found]


def test_names_are_those_of_the_library():
    assert "ORATORIO_HINTS" in hint_names.variables()
    page = (ROOT / "docs/user/hints.md").read_text()
    assert len(hint_names.hints()) > 60
    assert {key for key in hint_names.hints() if f"`{key}`" not in page} == set()


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("cb_nodez", "cb_nodes"),
        ("CB_NODE", "cb_nodes"),
        ("cb_nodes", ""),
        ("my_own_hint", ""),
        ("stripping_unit", "striping_unit"),
    ],
)
def test_misspelt_names_get_a_suggestion(word, instead):
    told = hint_names.misspelt_hint(word)
    assert told == (f"hint {word} isn't known; did you mean {instead}?" if instead else "")


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"ORATORIO_HINT": "x=y"}, "did you mean ORATORIO_HINTS?"),
        ({"oratorio_trace": "x"}, "did you mean ORATORIO_TRACE?"),
        ({"ORATORIO_DISABLE": "1"}, "ORATORIO_DISABLE is set"),
        ({"ORATORIO_METHOD": "host"}, "ORATORIO_METHOD=host"),
        ({"ORATORIO_METHOD": "tow_phase"}, "Did you mean two_phase?"),
        ({"ORATORIO_HINTS": "cb_nodes=2; cb_nodez=3"}, "did you mean cb_nodes?"),
        ({"ORATORIO_HINTS": "cb_nodes=2,cb_nodez=3"}, "did you mean cb_nodes?"),
        ({"ORATORIO_HINTS": "cb_nodes=2\ncb_nodez=3"}, "did you mean cb_nodes?"),
        ({"ORATORIO_HINTS": "cb_nodes=2,oratorio_method=sive"}, "Did you mean sieve?"),
        ({"ORATORIO_HINTS": "cb_nodes"}, "isn't key=value"),
        ({"ORATORIO_HINTS": "oratorio_method=sive"}, "Did you mean sieve?"),
        ({"ORATORIO_HINTS": "oratorio_method=host"}, "all files use the MPI's own MPI-IO"),
        ({"ROMIO_HINTS": "/no/such/file"}, "No such file"),
        ({"ROMIO_HINTS": "/dev/null"}, "it is not a regular file"),
        ({"ROMIO_HINTS": "/"}, "Is a directory"),
    ],
)
def test_invalid_variables_are_bad(environ, says):
    (one,) = doctor.environment(environ)
    assert one.state == BAD
    assert says in one.line


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"ORATORIO_DISABLE": "0", "ORATORIO_QUIET": "1", "HOME": "/x"},
        {"ORATORIO_HINTS": "cb_nodes=2;;oratorio_method=two_phase; someone_elses=4"},
        {"ORATORIO_HINTS": "oratorio_method=two_phase,oratorio_aggregators=0,4,8"},
        {"ORATORIO_METHOD": "sieve"},
    ],
)
def test_valid_variables_are_not_bad(environ):
    found = doctor.environment(environ)
    assert found[-1].state == OK
    assert BAD not in {one.state for one in found}


def test_a_file_of_hints_is_read(tmp_path):
    hints = tmp_path / "hints"
    hints.write_text("# a comment\ncb_nodes 2\n\nromio_cb_writ enable\n")
    (one,) = doctor.environment({"ROMIO_HINTS": str(hints)})
    assert (one.state, "did you mean romio_cb_write?" in one.says) == (BAD, True)
    hints.write_text("cb_nodes 2\n")
    assert states(doctor.environment({"ROMIO_HINTS": str(hints)})) == [(OK, "hints"), (OK, "environment")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cb_nodes=2\n", "'cb_nodes=2' isn't 'key value' and is ignored"),
        ("cb_nodes # 2\n", "'cb_nodes # 2' isn't 'key value' and is ignored"),
        ("cb_nodez\t2\n", "did you mean cb_nodes?"),
        ("oratorio_method sive\n", "Did you mean sieve?"),
    ],
)
def test_lines_that_the_library_ignores_are_bad(text, says, tmp_path):
    hints = tmp_path / "hints"
    hints.write_text(text)
    (one,) = doctor.environment({"ROMIO_HINTS": str(hints)})
    assert one.state == BAD and says in one.line


def test_a_file_of_hints_is_counted_as_the_library_reads_it(tmp_path):
    hints = tmp_path / "hints"
    hints.write_text("cb_nodes 2 # two\r\ncb_nodes 3\nmy_own \x0b4\n  # a comment\nyour_own\t5#6\n")
    found = doctor.environment({"ROMIO_HINTS": str(hints)})
    assert found[0].line == f"ok    hints         {hints}: 3 hints"
    assert hint_text.hints_of_file(hints.read_bytes().decode()) == (
        {"cb_nodes": "2", "my_own": "\x0b4", "your_own": "5"},
        [],
    )


def test_a_pipe_or_a_long_file_of_hints_is_bad(tmp_path):
    pipe, long = tmp_path / "pipe", tmp_path / "long"
    os.mkfifo(pipe)
    long.write_text("#" * (1 << 20) + "\n")
    for path, says in ((pipe, "it is not a regular file"), (long, "it is longer than 1 MiB")):
        (one,) = doctor.environment({"ROMIO_HINTS": str(path)})
        assert one.state == BAD and says in one.line


def test_without_romio_hints_the_file_of_the_machine_is_read(tmp_path, monkeypatch):
    hints = tmp_path / "romio-hints"
    monkeypatch.setattr(doctor, "DEFAULT_HINT_FILE", hints)
    assert states(doctor.environment({})) == [(OK, "environment")]
    hints.write_text("cb_nodez 2\n")
    assert [one.state for one in doctor.environment({})] == [BAD]
    hints.write_text("cb_nodes 2\n")
    assert doctor.environment({})[0].says == f"{hints}: 1 hint"


def launcher(folder, text):
    """Makes an mpiexec that only prints to which MPI it belongs."""
    file = folder / "mpiexec"
    file.write_text(f"#!/bin/sh\necho '{text}'\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("kind", "needs", "expected"),
    [
        ("HYDRA build", Needs("mpich", ""), [(OK, "launcher"), (OK, "program")]),
        ("HYDRA build", Needs("ompi", ""), [(BAD, "launcher"), (OK, "program")]),
        ("Open MPI 5", Needs("mpich", ""), [(BAD, "launcher"), (OK, "program")]),
        ("Open MPI 5", Needs(None, ""), [(OK, "launcher"), (NOTE, "program")]),
        ("who knows", Needs("mpich", ""), [(NOTE, "launcher"), (OK, "program")]),
        ("HYDRA build", Needs(None, "", is_static=True), [(OK, "launcher"), (BAD, "program")]),
        ("HYDRA build", Needs(None, "", has_own_io=True), [(OK, "launcher"), (BAD, "program")]),
        ("HYDRA build", Needs("abi", ""), [(OK, "launcher"), (BAD, "program")]),
        (
            "HYDRA build",
            Needs("mpich", "", has_gio=True),
            [(OK, "launcher"), (OK, "program"), (NOTE, "program")],
        ),
    ],
)
def test_launcher_and_program_fit(kind, needs, expected, tmp_path, monkeypatch):
    for name in ("mpich", "ompi"):
        (tmp_path / f"liboratorio-{name}.so").touch()
    monkeypatch.setattr(doctor, "LIBRARIES", tmp_path)
    monkeypatch.setattr(doctor, "needs_of", lambda path: needs)
    words = [launcher(tmp_path, kind), "-n", "2", "/usr/bin/true"]
    if kind == "who knows":
        words = ["/usr/bin/true"]
    assert states(doctor.command(words)) == expected


def test_a_missing_program_is_bad(tmp_path):
    assert states(doctor.command([launcher(tmp_path, "HYDRA"), "./nothing"])) == [(BAD, "program")]


def test_a_static_program_is_reported(tmp_path):
    program = compiled(tmp_path, "int main(void) { return 0; }", "-static")
    found = doctor.command([launcher(tmp_path, "HYDRA"), str(program)])
    assert "linked statically" in found[-1].says and "pkg-config" in found[-1].do


@pytest.mark.parametrize(
    ("made", "state", "says"),
    [
        (run(file(*collective(2)), exit_code=0), OK, "saw 4 accesses to 1 file; methods: two_phase"),
        (run(exit_code=0), BAD, "was not loaded"),
        (run(exit_code=0, explained=explained.Explained(saw=(0, 0))), BAD, "ran without any MPI-IO"),
        (
            run(exit_code=0, explained=explained.Explained(saw=(0, 2))),
            BAD,
            "saw 2 opened files, but no access",
        ),
        (
            run(exit_code=0, explained=explained.Explained(saw=(3, 2))),
            NOTE,
            "saw 3 accesses to 2 files on rank 0, but no",
        ),
        (run(exit_code=0, explained=explained.Explained(off=True)), BAD, "is off"),
        (run(exit_code=6), BAD, "ended with exit code 6: last words"),
        (run(exit_code=None), NOTE, "stopped by doctor after 9 s"),
    ],
)
def test_a_run_is_judged(made, state, says):
    (one,) = doctor.judge(made, "first\nlast words\n", 9)
    assert (one.state, says in one.line) == (state, True), one.line


def test_processes_that_run_alone_are_reported():
    said = "x\noratorio: each process runs alone: the launcher has started 4 (PMI_SIZE)\ny"
    found = doctor.judge(run(file(*collective(2)), exit_code=0), said, 9)
    assert [(one.state, one.about) for one in found] == [(BAD, "launcher"), (OK, "run")]
    assert found[0].says == "each process runs alone: the launcher has started 4 (PMI_SIZE)"


def test_remarks_of_a_run_are_notes_and_not_too_many():
    told = explained.Explained(remarks=[f"remark {i}" for i in range(99)])
    found = doctor.judge(run(file(*collective(1)), exit_code=0, explained=told), "", 9)
    assert [one.state for one in found] == [OK] + [NOTE] * doctor.REMARKS_MOST


def test_a_folder_is_looked_at_and_left_as_it_was(tmp_path):
    found = machine.folder(tmp_path, {"ORATORIO_COSTS": str(tmp_path)}, "1 2 0:1 / / rw - ext4 x rw\n")
    assert states(found)[:2] == [(OK, "file system"), (OK, "locks")]
    assert (NOTE, "costs") in states(found)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "UFS.costs").write_text("write_byte 1\n")
    found = machine.folder(tmp_path, {"ORATORIO_COSTS": str(tmp_path)}, "1 2 0:1 / / rw - ext4 x rw\n")
    assert (OK, "costs") in states(found)


def test_a_folder_that_cannot_be_used_is_bad(tmp_path):
    assert states(machine.folder(tmp_path / "none", {})) == [(BAD, "folder")]
    assert states(machine.folder(Path("/proc"), {})) == [(BAD, "folder")]


@pytest.mark.parametrize(
    ("kind", "state", "says"),
    [
        ("nfs4", NOTE, "which Oratorio calls NFS"),
        ("lustre", OK, "coherent"),
        ("tmpfs", OK, "local to this machine"),
        ("9p", NOTE, "UFS"),
    ],
)
def test_file_systems_are_distinguished(kind, state, says, tmp_path):
    listed = f"1 2 0:1 / / rw - {kind} x rw\n"
    first = machine.folder(tmp_path, {}, listed)[0]
    assert (first.state, says in first.says) == (state, True)
    assert MOUNTS.count(" - ") == 4


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("ext4", None),
        ("overlay", None),
        ("squashfs", None),
        ("cifs", "its locks are mandatory"),
        ("9p", "the whole file"),
        ("nfs4", "each job tests"),
        ("ocfs2", "each job tests"),
        ("hostfs", "each job tests"),
    ],
)
def test_whether_locks_hold_between_nodes_is_reported(kind, says, tmp_path):
    found = machine.folder(tmp_path, {}, f"1 2 0:1 / / rw - {kind} x rw\n")
    told = [one.says for one in found if one.about == "locks" and one.state == NOTE]
    assert [says in one for one in told] == ([True] if says else [])


def test_the_locks_of_a_run_are_reported():
    sentence = "ocfs2: locks are visible on one node only; using the job's locks"
    told = explained.Explained(locks=[sentence])
    found = doctor.judge(run(file(*collective(1)), exit_code=0, explained=told), "", 9)
    assert [(one.about, one.says) for one in found if one.state == NOTE] == [("locks", sentence)]


def test_locks_that_are_refused_are_bad(tmp_path, monkeypatch):
    def refused(*words):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(machine.fcntl, "lockf", refused)
    found = machine.folder(tmp_path, {})
    assert (BAD, "locks") in states(found)


class Space:
    f_frsize = 1 << 20

    def __init__(self, free):
        self.f_blocks, self.f_bavail = 1000, free


@pytest.mark.parametrize(("free", "state"), [(1, BAD), (64, NOTE), (900, OK)])
def test_shared_memory_is_enough_or_not(free, state, monkeypatch):
    monkeypatch.setattr(machine.os, "statvfs", lambda path: Space(free))
    assert [one.state for one in machine.shared_memory()] == [state]


def test_no_shared_memory_at_all_is_bad(tmp_path):
    assert [one.state for one in machine.shared_memory(tmp_path / "none")] == [BAD]


def test_limits_that_are_in_the_way_are_notes():
    free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert [one.state for one in machine.limits(lambda limit: free)] == [OK]
    found = machine.limits(lambda limit: (64, 64))
    assert [one.state for one in found] == [NOTE] * len(machine.LIMITS)
    assert all("64" in one.says and one.do.startswith("raise it (ulimit") for one in found)


def test_kernel_restrictions_are_reported(tmp_path):
    for name, hindering, _ in machine.KERNEL:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(hindering[-1] + "\n")
    assert [one.state for one in machine.kernel(tmp_path)] == [NOTE] * 2
    for name, _, _ in machine.KERNEL:
        (tmp_path / name).write_text("0\n")
    assert machine.kernel(tmp_path) == []
    assert machine.kernel(tmp_path / "none") == []


def test_each_line_begins_with_its_state_and_a_bad_line_is_exit_code_1(tmp_path):
    done = command("doctor", "--dir", tmp_path / "none", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    *lines, last = done.stdout.splitlines()
    assert {line.split()[0] for line in lines} <= {OK, NOTE, BAD}
    assert "to fix" in last
    assert list(tmp_path.iterdir()) == []


def test_a_missing_library_is_bad(call):  # noqa: F811
    done = call("doctor")
    assert done.returncode == 1
    assert re.search(r"^bad +library ", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_nothing_is_run_while_a_line_is_bad(call, tmp_path):  # noqa: F811
    done = call("doctor", "touch", str(tmp_path / "ran"))
    assert "not run: first fix what the bad lines report" in done.stdout
    assert not (tmp_path / "ran").exists()
