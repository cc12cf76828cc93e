# SPDX-License-Identifier: BSD-3-Clause
"""Finds the wrappers, the launcher and the programs in the words of a command, and sets variables for the
programs alone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio.launch.launchers import WRAPPERS, Launcher, Wrapper, is_found, launcher_of, words_of_launcher

# A word that sets or passes LD_PRELOAD: -x LD_PRELOAD, -eLD_PRELOAD=..., --export=ALL,LD_PRELOAD=...
SETS_PRELOAD = re.compile(r"(?:^|^-[A-Za-z]|[=,])LD_PRELOAD(?:$|[=,])")
UNSETS = ("-u", "--unset")


@dataclass(frozen=True)
class Part:
    """One program of a command, as indices of words. A launcher may start several programs, separated by
    `:`."""

    begin: int  # the first word of this part
    end: int  # the word after its last one
    program: int | None  # the program; None if no word names one that exists
    wrappers: tuple[int, ...] = ()  # the wrappers between the launcher and the program


@dataclass(frozen=True)
class Command:
    """The words of a command, and which of them are its wrappers, its launcher and its programs."""

    words: tuple[str, ...]
    launcher: Launcher | None
    launcher_at: int
    wrappers: tuple[int, ...]  # indices of the wrappers in front of the launcher
    parts: tuple[Part, ...]

    @property
    def program(self) -> str | None:
        """The word that names the first program."""
        at = self.parts[0].program
        return None if at is None else self.words[at]

    def names_of_wrappers(self) -> set[str]:
        """Returns the name of each wrapper, in front of the launcher or of a program."""
        places = [*self.wrappers, *(at for part in self.parts for at in part.wrappers)]
        return {Path(self.words[at]).name for at in places}


def _behind(words: Sequence[str], at: int, wrapper: Wrapper) -> int:
    """Returns the index of the command that the wrapper at `at` starts; it may be past the last word."""
    at += 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            at += 1
            break
        at += 2 if words[at] in wrapper.valued else 1
    while wrapper.assigns and at < len(words) and "=" in words[at]:
        at += 1
    return at + wrapper.operands


def _past_wrappers(words: Sequence[str], at: int) -> tuple[int, tuple[int, ...]]:
    """Returns the index of the first command from `at` on that isn't a wrapper, and the indices of the
    wrappers before it."""
    wrappers = []
    while at < len(words) and (wrapper := WRAPPERS.get(Path(words[at]).name)):
        wrappers.append(at)
        at = _behind(words, at, wrapper)
    return at, tuple(wrappers)


def _part_of_launcher(words: Sequence[str], begin: int, at: int, end: int, launcher: Launcher) -> Part:
    """Returns the part from `begin` to `end`. Its program is the first executable from `at` on that is
    neither an option's value nor a wrapper."""
    while at < end:
        if words[at] in launcher.paired:
            at += 3
        elif words[at] in launcher.valued:
            at += 2
        elif words[at].startswith("-") or not is_found(words[at]):
            at += 1
        else:
            program, wrappers = _past_wrappers(words[:end], at)
            return Part(begin, end, program if program < end else None, wrappers)
    return Part(begin, end, None)


def parse(words: Sequence[str]) -> Command:
    """Returns the parts of a command. Raises LaunchError if its launcher can't be started."""
    words = tuple(words)
    at, wrappers = _past_wrappers(words, 0)
    launcher = launcher_of(words[at:])
    if launcher is None:
        return Command(words, None, at, (), (Part(0, len(words), at if at < len(words) else None, wrappers),))
    begin, after, parts = 0, at + words_of_launcher(launcher, words[at:]), []
    for end in [*(place for place in range(after, len(words)) if words[place] == ":"), len(words)]:
        parts.append(_part_of_launcher(words, begin, after, end, launcher))
        begin = after = end + 1
    return Command(words, launcher, at, wrappers, tuple(parts))


def own_preload(command: Command) -> str | None:
    """Returns the first word in front of a program that sets LD_PRELOAD, which would replace Oratorio's
    value; None if no word does."""
    words = command.words
    for part in command.parts:
        for at in range(part.begin, part.end if part.program is None else part.program):
            if SETS_PRELOAD.search(words[at]) and not (at and words[at - 1] in UNSETS):
                return words[at]
    return None


def _before_programs(command: Command, variables: Mapping[str, str]) -> list[str]:
    """Returns the words with the variables set in front of each program, after its wrappers, in the way that
    the last wrapper requires."""
    assignments = ["env", *(f"{key}={value}" for key, value in variables.items())]
    words = list(command.words)
    for part in reversed(command.parts):
        last = part.wrappers[-1] if part.wrappers else None
        sets = WRAPPERS[Path(words[last]).name].sets if last is not None else ()
        if part.program is None:
            continue
        if sets:
            words[last + 1 : last + 1] = [word.format(command=shlex.join(assignments)) for word in sets]
        else:
            words[part.program : part.program] = assignments
    return words


def _joined(command: Command, variables: Mapping[str, str], inherited: str) -> list[str]:
    """Returns the words with the variables added to srun's --export in each part. A comma ends a value there,
    so only LD_PRELOAD is written with its value; srun takes the values of the other variables from its own
    environment. A part without --export gets one that begins with `inherited`."""
    option = command.launcher.forward[0]
    own = [f"LD_PRELOAD={variables['LD_PRELOAD']}", *(key for key in variables if key != "LD_PRELOAD")]
    words = list(command.words)
    first = command.launcher_at + words_of_launcher(command.launcher, words[command.launcher_at :])
    for part in reversed(command.parts):
        begin = max(part.begin, first)
        for at in range(begin, part.end if part.program is None else part.program):
            name, equals, value = words[at].partition("=")
            if name == option and (equals or at + 1 < part.end):
                place = at if equals else at + 1
                value = value if equals else words[place]
                break
        else:
            words.insert(begin, f"{option}=")
            place, equals, value = begin, "=", inherited
        kept = [] if value in ("", "NONE") else [value]
        words[place] = (f"{option}=" if equals else "") + ",".join(kept + own)
    return words


def _by_options(command: Command, variables: Mapping[str, str]) -> list[str]:
    """Returns the words with options of the launcher that set the variables."""
    launcher = command.launcher
    double = launcher.doubled
    options = []
    for key, value in variables.items():
        text = value.replace(double, double * 2) if double else value
        options += [word.format(key=key, value=text) for word in launcher.forward]
    words = list(command.words)
    after = command.launcher_at + words_of_launcher(launcher, words[command.launcher_at :])
    begins = [after, *(part.begin for part in command.parts[1:])] if launcher.is_repeated else [after]
    for begin in reversed(begins):
        words[begin:begin] = options
    return words


def with_variables(
    command: Command, variables: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Returns the words that set the variables for the programs alone, and the variables that the command
    itself must have in its environment. Wrappers and launchers do not get LD_PRELOAD."""
    launcher = command.launcher
    is_wrapped = any(part.wrappers for part in command.parts)
    if launcher is None and not is_wrapped:
        return list(command.words), dict(variables)
    is_known = all(part.program is not None for part in command.parts)
    if launcher is None or (is_known and (is_wrapped or not launcher.forward)):
        return _before_programs(command, variables), {}
    if not launcher.forward:
        return list(command.words), {}
    if launcher.is_joined:
        inherited = environ.get("SLURM_EXPORT_ENV") or "ALL"
        by_name = {key: value for key, value in variables.items() if key != "LD_PRELOAD"}
        return _joined(command, variables, inherited), by_name
    return _by_options(command, variables), {}
