# SPDX-License-Identifier: BSD-3-Clause
"""Programs that take the place of launchers and wrappers in tests. Each writes its name, environment and
arguments to a log, and then starts the command that follows its options. Their options are listed here
independently of the tables of `oratorio run`."""

import ast
import os
import shutil
import stat
import sys
from pathlib import Path

# The number of values of each option, or what the option does to the ranks' environment: `set` takes
# KEY=VALUE; `template` does too, and replaces $NAME in the value; `pair` takes KEY and VALUE as two words;
# `export` takes a list of the variables that the ranks get.
HYDRA = {"-n": 1, "-np": 1, "-ppn": 1, "-hosts": 1, "-f": 1, "-wdir": 1, "-map-by": 1, "-genv": "pair"}
OPENMPI = {"-n": 1, "-np": 1, "--host": 1, "--map-by": 1, "--mca": 2, "--oversubscribe": 0, "-x": "set"}
SRUN = {"-n": 1, "-N": 1, "-c": 1, "--mpi": 1, "--cpu-bind": 1, "-J": 1, "--export": "export", "-l": 0}
APRUN = {"-n": 1, "-N": 1, "-d": 1, "-cc": 1, "-j": 1, "-b": 0, "-e": "set"}
JSRUN = {"-n": 1, "-a": 1, "-c": 1, "-g": 1, "-d": 1, "-b": 1, "-M": 1, "-E": "set"}
FLUX = {"-n": 1, "-N": 1, "-c": 1, "-o": 1, "--job-name": 1, "-x": 0, "--env": "template"}
IBRUN = {"-n": 1, "-o": 1}
PALS = {"-n": 1, "--ppn": 1, "--depth": 1, "--cpu-bind": 1, "--hosts": 1, "--env": "set"}
LAUNCHERS = {
    "mpiexec": ("HYDRA build details:", HYDRA),
    "mpiexec.hydra": ("Intel(R) MPI Library for Linux* OS", HYDRA),
    "mpirun": ("mpirun (Open MPI) 5.0.11", OPENMPI),
    "orterun": ("", OPENMPI),
    "prterun": ("", OPENMPI),
    "mpirun_rsh": ("", {"-np": 1, "-hostfile": 1}),
    "srun": ("", SRUN),
    "aprun": ("", APRUN),
    "jsrun": ("", JSRUN),
    "flux": ("", FLUX),
    "ibrun": ("", IBRUN),
    "palsrun": ("", PALS),
    "lrun": ("", {"-n": 1}),
}
WRAPPERS = ("time", "env", "nice", "nohup", "timeout", "numactl", "taskset", "stdbuf", "gdb")
NUMACTL = {"-N": 1, "-m": 1, "--cpunodebind": 1, "--localalloc": 0, "-C": 1}
GDB = {"-q": 0, "--args": 0, "-ex": 1, "-iex": "exec-wrapper", "-x": 1}

# The source of every program. It imports little, because a test starts several programs.
MAIN = """import os, sys
NAME, *words = sys.argv[1:]
SAYS, OPTIONS, REAL = FACTS[NAME]
if words == ["--version"]:
    print(SAYS)
    sys.exit(0)
with open(LOG, "a") as log:
    print([NAME, dict(os.environ), words], file=log)
if REAL:
    os.execv(REAL, [NAME, *words])
if OPTIONS is None:
    sys.exit(0)


def exported(value):
    names, kept = value.split(","), dict(os.environ)
    if "ALL" not in names:
        kept = {"PATH": os.environ["PATH"]}
    for name in names:
        key, equals, given = name.partition("=")
        if equals or key in os.environ:
            kept[key] = given if equals else os.environ[key]
    return kept


def start(words, env):
    before = []
    while words and words[0].startswith("-"):
        option, equals, value = words.pop(0).partition("=")
        kind = OPTIONS[option]
        values = [value] if equals else []
        while len(values) < {"pair": 2}.get(kind, kind if isinstance(kind, int) else 1):
            values.append(words.pop(0))
        if kind == "pair":
            env[values[0]] = values[1]
        elif kind in ("set", "template"):
            key, _, value = values[0].partition("=")
            if kind == "template":
                import string
                value = string.Template(value).substitute(env)
            env[key] = value
        elif kind == "export":
            env = exported(values[0])
        elif kind == "exec-wrapper" and values[0].startswith("set exec-wrapper "):
            before = ["sh", "-c", "exec " + values[0].removeprefix("set exec-wrapper ") + ' "$@"', "sh"]
    child = os.fork()
    if child == 0:
        os.execvpe([*before, *words][0], [*before, *words], env)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


words = words[1:] if NAME == "flux" else words
parts, env = [[]], dict(os.environ)
for word in words:
    parts[-1:] = [parts[-1], []] if word == ":" else [[*parts[-1], word]]
codes = []
for part in parts:
    # An option before the first program holds for all programs with hydra and aprun, else for its own.
    shared = env if NAME in ("mpiexec", "mpiexec.hydra", "aprun") else dict(env)
    codes.append(start(part, shared))
sys.exit(max(codes))
"""


def make(folder: Path, log: Path) -> str:
    """Makes all programs in `folder`, and an `app` that the ranks run; returns the path of `app`."""
    folder.mkdir()
    facts = {name: (says, options, None) for name, (says, options) in LAUNCHERS.items()}
    facts |= {name: ("", None, shutil.which(name, path=os.defpath)) for name in WRAPPERS}
    facts |= {"numactl": ("", NUMACTL, None), "gdb": ("", GDB, None), "app": ("", None, None)}
    main = folder / "main.py"
    main.write_text(f"FACTS, LOG = {facts!r}, {str(log)!r}\n{MAIN}")
    for name in facts:
        file = folder / name
        file.write_text(f'#!/bin/sh\nexec {sys.executable} -SE {main} {name} "$@"\n')
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(folder / "app")


def read(log: Path) -> list[tuple[str, dict[str, str], list[str]]]:
    """Returns the name, environment and arguments of each program that ran."""
    return [tuple(ast.literal_eval(line)) for line in log.read_text().splitlines()]
