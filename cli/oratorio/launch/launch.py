# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio run`: starts the user's command with Oratorio in its ranks.

The command stays a list of words, so quoting cannot break. Every launcher has its own way to set a variable
for the ranks alone; if there is no launcher, the variables go into the environment.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.launch.preload import PreloadError, preloadable
from oratorio.launch.programs import FLAVOUR_NAMES, Needs, needs_of
from oratorio.library import method_table
from oratorio.paths import preload_library

LAUNCHER_NAMES = ("mpiexec", "mpirun", "orterun", "prterun", "srun")
# Options of launchers whose value is the next word, which could be mistaken for the program.
VALUE_OPTIONS = {"-n", "-np", "-c", "-ppn", "-hosts", "-host", "--host", "-H", "-f", "-hostfile"}
VALUE_OPTIONS |= {"--hostfile", "-machinefile", "-wdir", "--wdir", "-x", "--map-by"}
VALUE_OPTIONS |= {"--bind-to", "--ntasks", "-N", "--nodes", "-p", "--partition", "-launcher-exec"}
GIO_TOLD = "files that it opens through PnetCDF use GIO, a driver of PnetCDF, and not MPI-IO"
GIO_REMEDY = (
    "to use MPI-IO, set PNETCDF_HINTS=nc_driver=mpiio, or that hint in the info of "
    "ncmpi_create and ncmpi_open"
)
TWO_VALUE_OPTIONS = {"-genv", "-env", "--mca", "-mca", "--prtemca", "--pmixmca"}
# Open MPI 5 passes the variables of -x on to spawned processes only with this setting of its launcher.
SPAWN_INHERITS = "PRTE_MCA_rmaps_default_inherit"
ENV_VALUE_OPTIONS = {"-u", "--unset", "-C", "--chdir"}


class LaunchError(OratorioError):
    """The command cannot run with Oratorio; the text says why and what to do."""


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
    """Returns the environment variables that pass the method, hints and `explain` to Oratorio. Hints passed
    here override those already in ORATORIO_HINTS. Raises LaunchError."""
    if method and (complaint := method_table.complaint(method)):
        raise LaunchError(complaint)
    given = [f"oratorio_method={method}"] if method else []
    for hint in hints:
        key, equals, value = hint.partition("=")
        if not (key and equals) or ";" in value:
            raise LaunchError(f"a hint is key=value, without ';': {hint}")
        given.append(hint)
    variables = {}
    if given:
        before = environ.get("ORATORIO_HINTS", "")
        variables["ORATORIO_HINTS"] = ";".join(([before] if before else []) + given)
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
    """Whether PnetCDF will bypass MPI-IO, as far as is known before the program starts."""
    return needs.has_gio and "nc_driver=mpiio" not in environ.get("PNETCDF_HINTS", "")


def launcher_kind(word: str) -> str:
    """Returns `hydra`, `openmpi` or `srun`; `none` if `word` is no known launcher."""
    name = Path(word).name
    if not name.startswith(LAUNCHER_NAMES):
        return "none"
    if name == "srun":
        return "srun"
    try:
        told = subprocess.run([word, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except OSError as error:
        raise LaunchError(f"{word} can't be started: {error.strerror}") from error
    text = told.stdout + told.stderr
    if "HYDRA" in text or "Intel(R) MPI" in text:
        return "hydra"
    if "Open MPI" in text or "OpenRTE" in text or "PRRTE" in text:
        return "openmpi"
    return "none"


def _program_at(words: Sequence[str], kind: str) -> int | None:
    """Returns the index of the program: the first word after the launcher that is an executable file and not
    an option's value. `env` and the variables it sets come before the program."""
    skip = 0
    by_env = False
    for at, word in enumerate(words):
        if skip:
            skip -= 1
        elif (at == 0 and kind != "none") or (by_env and "=" in word):
            continue
        elif Path(word).name == "env":
            by_env = True
        elif word in TWO_VALUE_OPTIONS:
            skip = 2
        elif word in (ENV_VALUE_OPTIONS if by_env else VALUE_OPTIONS):
            skip = 1
        elif not word.startswith("-"):
            found = shutil.which(word)
            if found and not Path(found).is_dir():
                return at
    return None


def find_program(words: Sequence[str], kind: str) -> str | None:
    """Returns the path of the program that the ranks run."""
    at = _program_at(words, kind)
    return None if at is None else shutil.which(words[at])


def _before_programs(words: Sequence[str], kind: str) -> Iterator[str]:
    """Yields the words of the launcher and of `env` that precede each program of a `:` list."""
    begin = 0
    ends = [at for at, word in enumerate(words) if word == ":" and kind != "none"]
    for end in [*ends, len(words)]:
        part = words[begin:end]
        yield from part[: _program_at(part, kind if begin == 0 else "none")]
        begin = end + 1


def _refuse_own_preload(words: Sequence[str], kind: str) -> None:
    """Raises LaunchError if the launcher or `env` sets LD_PRELOAD, because that would silently replace
    Oratorio's value."""
    for word in _before_programs(words, kind):
        if any(one.partition("=")[0] == "LD_PRELOAD" for one in word.removeprefix("--export=").split(",")):
            raise LaunchError(
                f"the command sets LD_PRELOAD itself ({word}); "
                "set it in the environment of `oratorio run` instead, where it is respected"
            )


def _with_hydra(words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    options = [word for key, value in variables.items() for word in ("-genv", key, value)]
    return [words[0], *options, *words[1:]]


def _with_openmpi(words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Adds the variables for each program of a `:` list, because Open MPI 4 applies -x to one program
    only."""
    options = [word for key, value in variables.items() for word in ("-x", f"{key}={value}")]
    result = [words[0], *options]
    for word in words[1:]:
        result.append(word)
        if word == ":":
            result += options
    return result


def _with_srun(words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Adds the variables to srun's --export. A comma ends a value there, so only LD_PRELOAD is written with
    its value; srun takes the values of the others from its own environment."""
    own = [f"LD_PRELOAD={variables['LD_PRELOAD']}", *(key for key in variables if key != "LD_PRELOAD")]
    for index, word in enumerate(words):
        if word.startswith("--export="):
            before = word.removeprefix("--export=")
            kept = [] if before in ("", "NONE") else [before]
            return [*words[:index], "--export=" + ",".join(kept + own), *words[index + 1 :]]
    return [words[0], "--export=" + ",".join(["ALL", *own]), *words[1:]]


def _warnings(kind: str, program: str | None, needs: Needs | None, environ: Mapping[str, str]) -> list[str]:
    if needs is not None and needs.has_own_io:
        return [
            f"{program} has an MPI linked into it, so its files will be accessed by that MPI's own MPI-IO; "
            "link it with Oratorio before the MPI (pkg-config oratorio), or with the MPI's shared library"
        ]
    if needs is None or needs.flavour is None:
        return []
    told = []
    if kind in ("hydra", "openmpi") and (kind == "openmpi") != (needs.flavour == "ompi"):
        mine = "MPICH's" if kind == "hydra" else "Open MPI's"
        told.append(
            f"{program} needs {FLAVOUR_NAMES[needs.flavour]}, but the launcher is {mine}: "
            "each rank will probably run alone"
        )
    if bypasses_by_gio(needs, environ):
        told.append(f"{program}: {GIO_TOLD}; {GIO_REMEDY}")
    return told


def _verify(program: str | None, needs: Needs | None) -> None:
    """Raises LaunchError, before anything starts, if running the program with Oratorio is sure to fail."""
    if not preload_library().exists():
        raise LaunchError(f"{preload_library()} does not exist: build it with ./oratorio info")
    if needs is None:
        return
    if needs.is_static:
        raise LaunchError(
            f"{program} is linked statically, so nothing can be preloaded; "
            "link it with Oratorio instead (pkg-config oratorio)"
        )


def prepare(words: Sequence[str], variables: Mapping[str, str], environ: Mapping[str, str]) -> Launch:
    """Returns the command to execute for `words`. Raises LaunchError."""
    if shutil.which(words[0]) is None:
        raise LaunchError(f"{words[0]}: command not found")
    kind = launcher_kind(words[0])
    _refuse_own_preload(words, kind)
    program = find_program(words, kind)
    needs = needs_of(Path(program)) if program else None
    _verify(program, needs)
    warnings = _warnings(kind, program, needs, environ)
    preload = preload_value(environ, needs.profilers if needs else ())
    ranks_see = {"LD_PRELOAD": preload, **variables}
    if kind == "none":
        return Launch(list(words), ranks_see, program, needs, warnings)
    if kind == "srun":
        return Launch(_with_srun(words, ranks_see), dict(variables), program, needs, warnings)
    if kind == "hydra":
        return Launch(_with_hydra(words, ranks_see), {}, program, needs, warnings)
    own = {SPAWN_INHERITS: environ.get(SPAWN_INHERITS, "1")}
    return Launch(_with_openmpi(words, ranks_see), own, program, needs, warnings)
