# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio doctor`: checks what works here and what does not, and says what to do (docs/user/doctor.md).

A check looks at one thing and returns findings of one sentence each. This file has the checks of the
library, the program, its launcher, the environment and a run; `doctor.machine` has those of the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio import small_file
from oratorio.errors import OratorioError
from oratorio.launch import launch
from oratorio.launch.preload import PreloadError, preloadable
from oratorio.launch.programs import FLAVOUR_NAMES, Needs, needs_of
from oratorio.launch.words import Command, parse
from oratorio.library import hint_names, hint_text, method_table
from oratorio.paths import LIBRARIES, preload_library
from oratorio.quantity import counted
from oratorio.report.facts import Run
from oratorio.report.outcome import last_words, why_nothing
from oratorio.report.run_recorder import Recorder

OK, NOTE, BAD = "ok", "note", "bad"
REMARKS_MOST = 8
ALONE = "each process runs alone"
DEFAULT_HINT_FILE = Path("/etc/romio-hints")  # if ROMIO_HINTS is not set (src/bind/process.cpp)


@dataclass(frozen=True)
class Finding:
    """One line of the output: the state, the subject, what was found, and what to do about it."""

    state: str
    about: str
    says: str
    do: str = ""

    @property
    def line(self) -> str:
        return f"{self.state:<5} {self.about:<13} {self.says}" + (f"; {self.do}" if self.do else "")


def library() -> list[Finding]:
    """Checks that the library exists and can be loaded, and reports for which MPIs it is built."""
    file = preload_library()
    if not file.exists():
        return [
            Finding(
                BAD,
                "library",
                f"{file} is missing",
                "install Oratorio, or run ./oratorio info in a checkout, which builds it",
            )
        ]
    flavours = [name for name in FLAVOUR_NAMES if (LIBRARIES / f"liboratorio-{name}.so").exists()]
    if not flavours:
        return [
            Finding(
                BAD, "library", f"{LIBRARIES} contains no Oratorio library for an MPI",
                "build or install one: docs/user/install.md",
            )
        ]  # fmt: skip
    try:
        environ = {**os.environ, "LD_PRELOAD": str(preloadable(file))}
    except PreloadError as error:
        return [Finding(BAD, "library", str(error))]
    done = subprocess.run(
        [sys.executable, "-c", ""], env=environ, capture_output=True, text=True, check=False
    )
    if "cannot be preloaded" in done.stderr or done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return [
            Finding(
                BAD,
                "library",
                f"it can't be loaded: {said[0]}",
                "install a wheel, or build the library on this machine",
            )
        ]
    names = ", ".join(FLAVOUR_NAMES[name] for name in flavours)
    return [Finding(OK, "library", f"{file} can be loaded and supports {names}")]


def _own_mpi(path: str, needs: Needs) -> Finding:
    if needs.is_static:
        return Finding(BAD, "program", f"{path} is linked statically, so nothing can be preloaded",
                       "link it with Oratorio (pkg-config oratorio)")  # fmt: skip
    if needs.has_own_io:
        return Finding(BAD, "program", f"{path} has an MPI linked into it, so its MPI-IO can't be replaced",
                       "link it with the MPI's shared library")  # fmt: skip
    if needs.flavour is None:
        return Finding(NOTE, "program", f"{path}: {needs.reason}")
    if not (LIBRARIES / f"liboratorio-{needs.flavour}.so").exists():
        return Finding(BAD, "program", f"{path}: {needs.reason}, but this installation has no library for it",
                       f"build liboratorio-{needs.flavour}.so: docs/user/install.md")  # fmt: skip
    if needs.mpis:
        return Finding(BAD, "program", f"{path} {launch.two_mpis(needs)}")
    return Finding(OK, "program", f"{path}: {needs.reason}")


def _launcher(parsed: Command, needs: Needs) -> Finding:
    """Checks that the launcher is known and starts ranks of the program's MPI."""
    name = parsed.words[min(parsed.launcher_at, len(parsed.words) - 1)]
    row = parsed.launcher
    if launch.unknown_launcher(parsed, needs) is not None:
        return Finding(BAD, "launcher", f"{name} is not a known launcher, so Oratorio is not loaded",
                       "put oratorio run between it and the program")  # fmt: skip
    if row is None:
        says = f"{name} is not a known launcher: it starts one process, or it is a script"
        return Finding(NOTE, "launcher", says)
    if not row.flavours:
        state = OK if row.forward else NOTE
        return Finding(state, "launcher", f"{name} is {row.told}")
    if needs.flavour is None or needs.flavour in row.flavours:
        return Finding(OK, "launcher", f"{name} is {row.told}")
    says = f"{name} is {row.told}, but the program needs {FLAVOUR_NAMES[needs.flavour]}: ranks will run alone"
    return Finding(BAD, "launcher", says, "start the program with the mpiexec of its MPI")


def command(words: Sequence[str]) -> list[Finding]:
    """Checks the launcher and the program that it starts."""
    try:
        parsed = parse(words)
    except launch.LaunchError as error:
        return [Finding(BAD, "launcher", str(error), "check the launcher's name and path")]
    path = launch.find_program(parsed)
    if path is None:
        return [Finding(BAD, "program", f"no program was found in: {' '.join(words)}", "check its path")]
    needs = needs_of(Path(path))
    found = [_launcher(parsed, needs), _own_mpi(path, needs)]
    if launch.bypasses_by_gio(needs, os.environ):
        found.append(Finding(NOTE, "program", f"{path}: {launch.GIO_TOLD}", launch.GIO_REMEDY))
    return found


def _wrong_hints(
    source: str, hints: Iterable[tuple[str, str]], ignored: Sequence[str], form: str
) -> list[Finding]:
    """Reports hints of a source that are misspelt or name no method of Oratorio, and text that the library
    ignores because it doesn't have this form."""
    found = [Finding(BAD, "hints", f"{source}: '{text}' isn't {form} and is ignored") for text in ignored]
    for key, value in hints:
        complaint = hint_names.misspelt_hint(key)
        if (key, value) == ("oratorio_method", "host"):
            complaint = "oratorio_method=host: all files use the MPI's own MPI-IO"
        elif key == "oratorio_method":
            complaint = method_table.complaint(value)
        if complaint:
            found.append(Finding(BAD, "hints", f"{source}: {complaint}"))
    return found


def _hint_file(path: str) -> list[Finding]:
    try:
        text = small_file.read(Path(path))
    except OSError as error:
        return [
            Finding(
                BAD, "hints", f"the hints file {path}: {error.strerror}", "check its path and permissions"
            )
        ]
    hints, ignored = hint_text.hints_of_file(text)
    wrong = _wrong_hints(path, hints.items(), ignored, "'key value'")
    return wrong or [Finding(OK, "hints", f"{path}: {counted(len(hints), 'hint')}")]


def environment(environ: Mapping[str, str]) -> list[Finding]:
    """Reports variables and hints that are misspelt, switch Oratorio off or select a method. If none of them
    is bad, reports which variables of Oratorio are set."""
    found = [Finding(BAD, "environment", told) for told in hint_names.misspelt_variables(environ)]
    if environ.get("ORATORIO_DISABLE", "0") not in ("", "0"):
        found.append(
            Finding(
                BAD, "environment", "ORATORIO_DISABLE is set: all files use the MPI's own MPI-IO", "unset it"
            )
        )
    method = environ.get("ORATORIO_METHOD", "")
    if method == "host":
        found.append(
            Finding(
                BAD, "environment", "ORATORIO_METHOD=host: all files use the MPI's own MPI-IO", "unset it"
            )
        )
    elif method and (complaint := method_table.complaint(method)):
        found.append(Finding(BAD, "environment", f"ORATORIO_METHOD: {complaint}"))
    elif method and method != "auto":
        found.append(Finding(NOTE, "environment", f"ORATORIO_METHOD={method}: the automatic choice is off"))
    parts = hint_text.parts_of(environ.get("ORATORIO_HINTS", ""))
    pairs = [hint_text.pair_of(part) for part in parts if "=" in part]
    ignored = [part for part in parts if "=" not in part]
    found += _wrong_hints("ORATORIO_HINTS", pairs, ignored, "key=value")
    if path := environ.get("ROMIO_HINTS", ""):
        found += _hint_file(path)
    elif DEFAULT_HINT_FILE.exists():
        found += _hint_file(str(DEFAULT_HINT_FILE))
    if any(one.state == BAD for one in found):
        return found
    given = [name for name in hint_names.variables() if name in environ]
    told = f"{', '.join(given)}: all names are known" if given else "no variable of Oratorio is set"
    return [*found, Finding(OK, "environment", told)]


def _seen(run: Run) -> list[Finding]:
    seen = run.accesses + run.dropped
    if seen:
        methods = sorted(
            {access.args.get("method", "none needed") for file in run.files for access in file.accesses}
        )
        paths = len({file.location for file in run.files})
        told = f"{counted(seen, 'access')} to {counted(paths, 'file')}; methods: {', '.join(methods)}"
        return [Finding(OK, "run", f"Oratorio saw {told}")]
    says, do = why_nothing(run)
    is_unclosed = run.explained.saw is not None and run.explained.saw[0] > 0
    return [Finding(NOTE if is_unclosed else BAD, "run", says, do)]


def _alone(said: str) -> list[Finding]:
    """Reports the library's warning that the processes are not one job (src/bind/launcher.cpp), if it was
    printed."""
    line = next((line for line in said.splitlines() if ALONE in line), "")
    return [Finding(BAD, "launcher", line[line.index(ALONE) :])] if line else []


def judge(run: Run, said: str, seconds_max: float) -> list[Finding]:
    """Returns the findings from a run's exit code, output and recording."""
    if run.exit_code is None:
        closed = f"; files closed before that: {len(run.files)}" if run.files else ""
        return [Finding(NOTE, "run", f"stopped by doctor after {seconds_max:g} s{closed}",
                        "run a smaller problem, or set a longer --timeout")]  # fmt: skip
    if run.exit_code:
        return [Finding(BAD, "run", f"the command ended with exit code {run.exit_code}: {last_words(said)}",
                        "check whether it succeeds without Oratorio")]  # fmt: skip
    remarks = [Finding(NOTE, "run", line) for line in run.explained.remarks[:REMARKS_MOST]]
    locks = [Finding(NOTE, "locks", sentence) for sentence in run.explained.locks]
    return [*_alone(said), *_seen(run), *locks, *remarks]


def short_run(
    words: Sequence[str], folder: Path, seconds_max: float, environ: Mapping[str, str]
) -> list[Finding]:
    """Runs the command with Oratorio and judges the run."""
    try:
        run, said = Recorder(folder, environ).apart(words, {}, seconds_max)
    except OratorioError as error:
        return [Finding(BAD, "run", str(error))]
    return judge(run, said, seconds_max)
