# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio run`: starts the user's command with Oratorio in its ranks.

The command stays a list of words, so quoting cannot break. LD_PRELOAD is set for the ranks alone: by an
option of the launcher, or by `env` in front of the program. If there is neither a launcher nor a wrapper such
as `time`, all variables go into the environment.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio.errors import NOT_EXECUTABLE, NOT_FOUND
from oratorio.launch.launchers import WRAPPERS, LaunchError, is_found, launcher_of, preloads_of
from oratorio.launch.preload import PreloadError, preloadable
from oratorio.launch.programs import FLAVOUR_NAMES, Needs, flavour_of_name, is_python, needs_of
from oratorio.launch.words import Command, own_preload, parse, with_variables
from oratorio.library import hint_text, method_table
from oratorio.paths import preload_library

GIO_TOLD = "files that it opens through PnetCDF use GIO, a driver of PnetCDF, and not MPI-IO"
GIO_REMEDY = (
    "to use MPI-IO, set PNETCDF_HINTS=nc_driver=mpiio, or that hint in the info of "
    "ncmpi_create and ncmpi_open"
)
# Open MPI 5 passes the variables of -x on to spawned processes only with this setting of its launcher.
SPAWN_INHERITS = "PRTE_MCA_rmaps_default_inherit"
# Interpreters of scripts. The words after an interpreter name a script, not a program that it starts.
INTERPRETER = re.compile(
    r"(python|pypy|sh|bash|dash|zsh|ksh|csh|tcsh|fish|perl|ruby|julia|node|java|octave|Rscript)[0-9.]*$"
)


@dataclass(frozen=True)
class Launch:
    """The command to execute, the program and MPI found in it, and warnings for the user."""

    argv: list[str]
    env: dict[str, str]  # variables to be added to the environment
    program: str | None
    needs: Needs | None
    warnings: list[str]


def oratorio_variables(
    method: str | None, hints: Sequence[str], explain: bool, environ: Mapping[str, str]
) -> dict[str, str]:
    """Returns the environment variables that pass the method, hints and `explain` to Oratorio. Of several
    hints for a key the last counts; the method replaces a hint that names one, and all replace those already
    in ORATORIO_HINTS. Raises LaunchError."""
    if method and (complaint := method_table.complaint(method)):
        raise LaunchError(complaint)
    for hint in hints:
        if complaint := hint_text.complaint(hint):
            raise LaunchError(complaint)
    given = hint_text.last_given(hints)
    if method:
        given = hint_text.overlaid(given, [f"oratorio_method={method}"])
    variables = {}
    if given:
        before = hint_text.parts_of(environ.get("ORATORIO_HINTS", ""))
        variables["ORATORIO_HINTS"] = hint_text.joined(hint_text.overlaid(before, given))
    if explain:
        variables["ORATORIO_EXPLAIN"] = "1"
    return variables


def preload_value(environ: Mapping[str, str], profilers: Sequence[Path] = ()) -> str:
    """Returns LD_PRELOAD with Oratorio last, so that profilers see the program's calls.

    Profilers are the libraries already named in LD_PRELOAD, and `profilers`, to which the program is linked.
    Raises LaunchError.
    """
    try:
        library = str(preloadable(preload_library()))
    except PreloadError as error:
        raise LaunchError(str(error)) from error
    before = [path for path in environ.get("LD_PRELOAD", "").replace(":", " ").split() if path != library]
    before += [str(path) for path in profilers if str(path) not in before]
    return ":".join([*before, library])


def bypasses_by_gio(needs: Needs, environ: Mapping[str, str]) -> bool:
    """Returns whether PnetCDF will bypass MPI-IO, as far as is known before the program starts."""
    # PnetCDF reads the first word of each part, and if a key is given twice, its last value.
    words = [part.split() for part in environ.get("PNETCDF_HINTS", "").split(";")]
    pairs = [first.partition("=") for first, *_ in filter(None, words)]
    drivers = [value.lower() for key, _, value in pairs if key == "nc_driver"]
    return needs.has_gio and drivers[-1:] != ["mpiio"]


def two_mpis(needs: Needs) -> str:
    """Returns the end of a sentence about a program that is linked to several MPIs."""
    names = " and ".join(f"{FLAVOUR_NAMES[flavour_of_name(name)]} ({name})" for name in needs.mpis)
    return (
        f"is linked to {len(needs.mpis)} MPIs, {names}: its own calls go to the first one, but its "
        "libraries may have been built for another; build the program and its libraries (ldd shows them) "
        "with one MPI"
    )


def launcher_kind(word: str) -> str:
    """Returns the name of the launcher's family, `none` if `word` isn't a launcher. Raises LaunchError."""
    row = launcher_of([word])
    return row.name if row else "none"


def find_program(command: Command) -> str | None:
    """Returns the path of the program that the ranks run; None if there is none."""
    return shutil.which(command.program) if command.program else None


def _refuse_own_preload(command: Command) -> None:
    """Raises LaunchError if the launcher or `env` sets LD_PRELOAD, because that would silently replace
    Oratorio's value."""
    if word := own_preload(command):
        raise LaunchError(
            f"the command sets LD_PRELOAD itself ({word}); "
            "set it in the environment of `oratorio run` instead, where it is respected"
        )


def _is_command(word: str) -> bool:
    """Returns whether a word after an unknown command names a program to start: an executable file that is
    written with its path, is a Python interpreter or needs an MPI."""
    if not is_found(word):
        return False
    found = Path(shutil.which(word))
    return "/" in word or is_python(found) or needs_of(found).flavour is not None


def unknown_launcher(command: Command, needs: Needs | None) -> int | None:
    """Returns the index of the program that an unknown launcher seems to start; None if the command has a
    known launcher or none. A program without an MPI counts as a launcher if a word
    after it is a program to start."""
    at = command.parts[0].program
    if command.launcher or at is None or needs is None:
        return None
    program = Path(shutil.which(command.words[at]) or "")
    is_program = needs.flavour or needs.has_own_io or needs.is_static or needs.has_mpi4py
    if is_program or INTERPRETER.match(program.name):
        return None
    behind = range(at + 1, len(command.words))
    return next((place for place in behind if _is_command(command.words[place])), None)


def _unloaded(command: Command, at: int) -> str:
    """Returns the warning that an unknown launcher starts the program at index `at` without Oratorio."""
    words = command.words
    name = words[command.parts[0].program]
    better = f"{shlex.join(words[:at])} oratorio run {shlex.join(words[at:])}"
    return f"{name} is not a known launcher, so Oratorio is not loaded; use {better}"


def _warnings(
    command: Command, program: str | None, needs: Needs | None, environ: Mapping[str, str]
) -> list[str]:
    launcher = command.launcher
    if launcher and not launcher.forward and any(part.program is None for part in command.parts):
        return ["no program was found in the command, so Oratorio is not loaded; check the program's path"]
    if needs is not None and needs.has_own_io:
        return [
            f"{program} has an MPI linked into it, so its files will be accessed by that MPI's own MPI-IO; "
            "link it with Oratorio before the MPI (pkg-config oratorio), or with the MPI's shared library"
        ]
    if needs is None or needs.flavour is None:
        return []
    told = []
    if launcher and launcher.flavours and needs.flavour not in launcher.flavours:
        told.append(
            f"{program} needs {FLAVOUR_NAMES[needs.flavour]}, but the launcher is {launcher.told}: "
            "each rank will probably run alone"
        )
    if needs.mpis:
        told.append(f"{program} {two_mpis(needs)}")
    if bypasses_by_gio(needs, environ):
        told.append(f"{program}: {GIO_TOLD}; {GIO_REMEDY}")
    return told


def not_started(command: str, error: OSError) -> LaunchError:
    """Returns the error for a command that could not be started, with a shell's exit code."""
    code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    return LaunchError(f"{command} can't be started: {error.strerror}", code)


def _refuse_missing(command: str) -> None:
    """Raises LaunchError if the command does not exist or is not executable."""
    if shutil.which(command) is not None:
        return
    if "/" in command and Path(command).exists():
        kind = "a folder" if Path(command).is_dir() else "not executable"
        raise LaunchError(f"{command} is {kind}", NOT_EXECUTABLE)
    hint = (
        "; time is a shell keyword here, so put it first: time oratorio run ..." if command == "time" else ""
    )
    raise LaunchError(f"{command}: command not found{hint}", NOT_FOUND)


def _verify(program: str | None, needs: Needs | None) -> None:
    """Raises LaunchError, before anything starts, if running the program with Oratorio is sure to fail."""
    if not preload_library().exists():
        raise LaunchError(
            f"{preload_library()} does not exist: install Oratorio again, or in a checkout run "
            "./oratorio info, which builds it"
        )
    if needs is None:
        return
    if needs.is_static:
        raise LaunchError(
            f"{program} is linked statically, so nothing can be preloaded; "
            "link it with Oratorio instead (pkg-config oratorio)"
        )


def prepare(words: Sequence[str], variables: Mapping[str, str], environ: Mapping[str, str]) -> Launch:
    """Returns the command to execute for `words`. Raises LaunchError."""
    if words[0] == "exec" and len(words) > 1:  # `oratorio run` becomes the command, as the shell's exec does
        words = words[1:]
    _refuse_missing(words[0])
    command = parse(words)
    _refuse_own_preload(command)
    program = find_program(command)
    needs = needs_of(Path(program)) if program else None
    if place := unknown_launcher(command, needs):
        return Launch(list(command.words), {}, program, None, [_unloaded(command, place)])
    _verify(program, needs)
    warnings = _warnings(command, program, needs, environ)
    # The value for the ranks replaces the LD_PRELOAD that stdbuf sets, so it includes stdbuf's library, too.
    own = [preloads_of(name) for name in command.names_of_wrappers() if WRAPPERS[name].preloads]
    before = {"LD_PRELOAD": ":".join([environ.get("LD_PRELOAD", ""), *own])}
    preload = preload_value(before, needs.profilers if needs else ())
    argv, own = with_variables(command, {"LD_PRELOAD": preload, **variables}, environ)
    if command.launcher and command.launcher.name == "openmpi":
        own[SPAWN_INHERITS] = environ.get(SPAWN_INHERITS, "1")
    return Launch(argv, own, program, needs, warnings)
