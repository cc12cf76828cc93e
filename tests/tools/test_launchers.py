# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the library is in the ranks, and neither in the launcher nor in commands around it. Launchers
and wrappers are programs that log their environment (fake_launchers.py)."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import fake_launchers
import pytest
from test_launch import compiled, executable, library  # noqa: F401  fixtures

from oratorio.launch import launch, launchers

# Commas, a dollar and blanks, each of which means something to some launcher.
VARIABLES = {"ORATORIO_HINTS": "cb_config_list=a:1,b:2;path=$HOME/x y", "ORATORIO_EXPLAIN": "1"}
ODD = ["--title", "two words", "a;b", "$HOME", "it's", "*", "", "-genv", "x", "-n"]

LAUNCHERS = [
    "mpiexec -n 2 -hosts time,env -f env",
    "mpiexec.hydra -genv A time -ppn 2",
    "mpirun -np 2 --mca btl env --map-by time --oversubscribe",
    "orterun -x A=1 --host env",
    "prterun -n 2",
    "mpirun_rsh -np 2 -hostfile env",
    "srun -n 2",
    "srun --mpi=pmi2 --export=ALL,A=1 -J time",
    "srun --export NONE -l",
    "aprun -n 2 -N 1 -cc time -b",
    "jsrun -n 2 -a 1 -d env -b time",
    "flux run -n 2 --job-name time -o cpu-affinity=off",
    "ibrun -n 2 -o env",
    "palsrun -n 2 --ppn 1 --cpu-bind env --env A=1",
]
WRAPPERS = [
    "time -p",
    "time -f env -o times",
    "env A=1 B=2",
    "env -u A -i PATH={path} B=2",
    "nice",
    "nice -n 5",
    "nohup",
    "timeout -k 5 60",
    "timeout --signal=TERM 60",
    "numactl -N env --localalloc",
    "taskset 0xffff",
    "taskset -c 0-63",
    "stdbuf -oL -e 0",
    "gdb -q -ex run --args",
    "env A=1 nice -n 1 timeout 60",
]


@pytest.fixture
def ran(library, tmp_path, monkeypatch):  # noqa: F811
    """Returns ran(text, word...), which runs a command of the words in `text` and further words as
    `oratorio run` does, and returns the programs that ran."""
    log = tmp_path / "log"
    app = fake_launchers.make(tmp_path / "bin", log)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(text: str, *behind: str) -> list:
        words = [word.replace("{path}", os.environ["PATH"]) for word in text.split()]
        words = [app if word == "app" else word for word in [*words, *behind]]
        prepared = launch.prepare(words, VARIABLES, os.environ)
        run.warnings = prepared.warnings
        done = subprocess.run(
            prepared.argv, env={**os.environ, **prepared.env}, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, (prepared.argv, done.stderr)
        return fake_launchers.read(log)

    run.library = library
    return run


def verify(ran, found: list, programs: int = 1) -> None:
    """Asserts that the programs have the variables and all their arguments, and the rest has no library."""
    ranks = [(env, words) for name, env, words in found if name == "app"]
    assert len(ranks) == programs
    for env, words in ranks:
        *before, last = env["LD_PRELOAD"].split(":")
        assert last == ran.library
        assert all("libstdbuf" in path for path in before)
        assert {key: env.get(key) for key in VARIABLES} == VARIABLES
        assert words == ODD
    others = [name for name, env, _ in found if name != "app" and ran.library in env.get("LD_PRELOAD", "")]
    assert others == []
    assert ran.warnings == []


@pytest.mark.parametrize("form", LAUNCHERS)
def test_the_library_is_in_the_ranks_and_not_in_the_launcher(ran, form):
    found = ran(f"{form} app", *ODD)
    assert found[0][0] == form.split()[0]
    verify(ran, found)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_without_a_launcher_is_looked_past(ran, wrapper):
    verify(ran, ran(f"{wrapper} app", *ODD))


@pytest.mark.parametrize(("wrapper", "launcher"), [*zip(WRAPPERS, itertools.cycle(LAUNCHERS))])
def test_a_wrapper_in_front_of_a_launcher_is_looked_past(ran, wrapper, launcher):
    found = ran(f"{wrapper} {launcher} app", *ODD)
    assert found[0][0] == wrapper.split()[0]
    verify(ran, found)


def test_a_debugger_of_a_launcher_leaves_the_library_to_the_ranks(ran):
    verify(ran, ran("gdb -q --args mpiexec -n 2 app", *ODD))


@pytest.mark.parametrize(("wrapper", "launcher"), [*zip(WRAPPERS, itertools.cycle(reversed(LAUNCHERS)))])
def test_a_wrapper_in_each_rank_is_looked_past(ran, wrapper, launcher):
    verify(ran, ran(f"{launcher} {wrapper} app", *ODD))


def test_the_library_that_stdbuf_loads_stays(ran):
    for form in ("stdbuf -oL app", "stdbuf -oL mpiexec -n 2 app", "mpiexec -n 2 stdbuf -oL nice app"):
        *_, (_, env, _) = ran(form)
        assert "libstdbuf" in env["LD_PRELOAD"] and env["_STDBUF_O"] == "L"


def test_exec_is_left_out_because_there_is_no_shell(ran):
    verify(ran, ran("exec mpiexec -n 2 app", *ODD))
    assert launch.prepare(["exec", "app"], {}, {}).argv == ["app"]


@pytest.mark.parametrize("launcher", ["mpiexec", "mpirun", "srun", "aprun", "jsrun", "palsrun"])
@pytest.mark.parametrize("wrapper", ["", "nice"])
def test_every_program_of_a_colon_list_has_the_library(ran, launcher, wrapper):
    words = f"{launcher} -n 1 {wrapper} app".split()
    verify(ran, ran(" ".join(words), *ODD, ":", "-n", "2", *f"{wrapper} app".split(), *ODD), programs=2)


def test_an_unknown_launcher_starts_without_the_library_and_with_one_warning(ran, tmp_path):
    found = ran("nice lrun -n 2 app", *ODD)
    assert [name for name, *_ in found] == ["nice", "lrun", "app"]
    assert all("LD_PRELOAD" not in env for _, env, _ in found)
    (warning,) = ran.warnings
    assert warning.startswith("lrun is not a known launcher, so Oratorio is not loaded")
    assert f"nice lrun -n 2 oratorio run {tmp_path}/bin/app --title" in warning


def test_an_interpreter_with_a_script_is_a_program(ran):
    for words in (["bash", "app"], ["sh", "-c", "app", "/bin/true"], [sys.executable, "/bin/true"]):
        prepared = launch.prepare(words, {}, {})
        assert (prepared.env["LD_PRELOAD"], prepared.warnings) == (ran.library, [])


def test_a_launcher_that_needs_the_program_causes_a_warning_without_one(ran):
    prepared = launch.prepare(["ibrun", "./not-here"], {}, {})
    assert prepared.argv == ["ibrun", "./not-here"] and prepared.env == {}
    (warning,) = prepared.warnings
    assert "no program" in warning


def test_srun_keeps_what_the_batch_script_exports(ran):
    prepared = launch.prepare(["srun", "app"], {}, {"SLURM_EXPORT_ENV": "HOME,PATH"})
    assert prepared.argv == ["srun", f"--export=HOME,PATH,LD_PRELOAD={ran.library}", "app"]


def test_a_launcher_that_never_answers_is_of_no_known_family(ran, monkeypatch, tmp_path):
    monkeypatch.setattr(launchers, "VERSION_SECONDS", 0.1)
    mpiexec = executable(
        tmp_path / "mpiexec", '#!/bin/sh\n[ "$1" = --version ] && exec sleep 60\nexec "$@"\n'
    )
    prepared = launch.prepare([mpiexec, "app"], {}, {})
    assert prepared.argv == [mpiexec, "env", f"LD_PRELOAD={ran.library}", "app"]


def test_the_page_lists_all_launchers_and_wrappers():
    page = (Path(__file__).resolve().parents[2] / "docs/user/launchers.md").read_text()
    rows = re.findall(r"^\| (`.*) \| (\w+) \| `?([^ =`|]*)", page, re.MULTILINE)
    assert [family for _, family, _ in rows] == list(dict.fromkeys(row.name for row in launchers.LAUNCHERS))
    for named, family, how in rows:
        for row in (row for row in launchers.LAUNCHERS if row.name == family):
            assert all(f"`{command}`" in named for command in row.commands)
            assert how == (row.forward or ("env",))[0].partition("=")[0]
    listed = page.partition("looks past these commands")[2].partition("After one of them")[0]
    assert re.findall(r"`(\w+)`", listed) == list(launchers.WRAPPERS)


BATCH = re.findall(
    r"^```sh\n(#!/bin/bash\n#(?:PBS|BSUB|flux:) .*?)^```$",
    (Path(__file__).resolve().parents[2] / "docs/user/launchers.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


def test_the_page_has_a_script_for_each_batch_system():
    assert [script.split()[1] for script in BATCH] == ["#PBS", "#PBS", "#BSUB", "#flux:"]


@pytest.mark.parametrize("script", BATCH)
def test_a_batch_script_of_the_page_loads_the_library_into_the_ranks(ran, script):
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    (command,) = re.findall(r"^oratorio run (.*)$", script, re.MULTILINE)
    verify(ran, ran(command.replace("./app input.nml", "app"), *ODD))


def test_gdb_itself_debugs_the_program_with_the_library(library, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    source = '#include <stdlib.h>\nint main(int n, char** w) { return getenv("LD_PRELOAD") ? n : 99; }'
    words = ["gdb", "-batch", "-ex", "break main", "-ex", "run", "-ex", "continue", "--args"]
    prepared = launch.prepare([*words, compiled(tmp_path, source, "-g"), "two words"], VARIABLES, {})
    told = subprocess.run(
        prepared.argv, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    if "ptrace" in told.stderr or "exited with code" not in told.stdout:
        pytest.skip(f"gdb can't run a program here: {told.stderr[-200:]}")
    assert "Breakpoint 1, main" in told.stdout and "exited with code 02" in told.stdout
