#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks rules of this code base that no compiler checks. Prints `file:line: complaint`, and exits
with 1 if there is any.

- A file of src/ includes only headers of its own folder and of the folders that ROOMS lists for that folder.
- In src/, only src/mpi and src/bind include mpi.h and use the names MPI_* and PMPI_*.
- Files have at most 600 lines, C and C++ functions at most 60; functions of src/ have at most 6
  parameters, and abstract classes at most 8 virtual functions.
- src/ gives each new file descriptor to a Descriptor or a Socket, which avoid 0, 1 and 2; it opens no
  streams.
- Messages of src/ go through base/standard_error.
- src/ formats floating-point numbers by base/decimal and changes the case of letters by
  base/string_util, because the program's locale changes what the C library does.
- In src/, only the tables of parts (KIND_TABLES) ask which part a method has; other code asks for the
  part's facts.
- Only the collective helpers in VOUCHERS vouch for agreed values.
- No two types of the library have the same qualified name (one definition rule: the linker would use the
  members of one type for both).
- Each source begins with the license.
- A TODO names the issue it belongs to: TODO(#12).
- Comments, and subjects of commits since 2026-11-26, avoid what wording.py lists.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import wording

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "cli", "lab", "dev")
CXX_SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".def"}
SUFFIXES = CXX_SUFFIXES | {".py", ".sh", ".f90"}
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
LICENSE = "SPDX-License-Identifier: BSD-3-Clause"
PARAMETERS_MAX = 6
VIRTUALS_MAX = 8
# classes that may have more virtual functions; docs/internals/style.md says why
WIDE = ("Transport", "Store")
ABSTRACT = re.compile(r"^(?:class|struct) (\w+)[^;{()]*\{", re.MULTILINE)

# folder of src/ -> folders that it may include, besides itself
ROOMS = {
    "base": set(),
    "memory": {"base"},
    "comm": {"base", "memory"},
    "net": {"base", "comm"},
    "type": {"base", "memory"},
    "stats": {"base"},
    "plan": {"base", "comm", "type", "stats"},
    "device": {"base", "type"},
    "store": {"base", "memory", "net", "stats"},
    "exchange": {"base", "comm", "type", "stats", "plan"},
    "data_shipping": {"base", "net", "type", "stats", "store"},
    "engine": {"base", "memory", "comm", "type", "stats", "plan", "store", "exchange", "data_shipping"},
    "hints": {"base", "comm", "plan"},
    "file": {
        "base", "memory", "comm", "net", "type", "stats", "plan", "device", "store", "exchange",
        "data_shipping", "engine", "hints",
    },
    "mpi": {"base", "memory", "comm", "net", "type"},
    "bind": {
        "base", "memory", "comm", "net", "type", "stats", "plan", "device", "store", "exchange",
        "data_shipping", "engine", "hints", "file", "mpi",
    },
}  # fmt: skip
MPI_FOLDERS = {"mpi", "bind"}
KIND_TABLES = {
    "src/plan/parts.hpp", "src/plan/parts.cpp", "src/plan/methods.hpp", "src/plan/methods.cpp",
    "src/exchange/exchange.cpp", "src/engine/work.cpp",
}  # fmt: skip

# Files that may vouch for agreed values: collective helpers, which ensure that all ranks have the same value.
VOUCHERS = {
    "src/comm/agreed.hpp", "src/comm/agreed.cpp", "src/bind/workspaces.cpp",
    "src/exchange/node_shared/node_memory.cpp", "src/hints/hint_sources.cpp", "src/engine/tuning.cpp",
}  # fmt: skip

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
MPI_NAME = re.compile(r"\bP?MPIX?_\w+")
KIND = re.compile(r"\b(Request|Domains|Graph|Exchange|Layers|Storage|ReadAhead)Kind\b")
VOUCH = re.compile(r"\bvouch\(")
# System calls that make a descriptor; the text between the start of the statement and the call must name an
# owner.
MAKES_DESCRIPTOR = re.compile(
    r"(?<![\w.>:])(?:::(?:open|openat|creat|socket|socketpair|accept4?|pipe2?|dup[23]?|mkstemp)"
    r"|(?:::)?(?:shm_open|memfd_create|eventfd|timerfd_create|signalfd|epoll_create1?|inotify_init1?|pidfd_open))\("
)
OWNS_DESCRIPTOR = re.compile(r"\b(Descriptor|Socket)\b")
STREAM = re.compile(r"\bstd::[io]?fstream\b|\b(fopen|freopen|fdopen|opendir|popen|tmpfile)\(")
# Names by which code writes to descriptor 2, which may be a data file.
STANDARD_ERROR = re.compile(r"\b(stderr|STDERR_FILENO|perror|cerr|clog)\b")
STANDARD_ERROR_FILES = {
    "src/base/standard_error.cpp",
    "src/base/descriptor.cpp",
    "src/store/descriptor_store.cpp",
}
# Formats of printf for floating-point numbers, and functions whose results depend on the program's locale.
FLOATING_FORMAT = re.compile(r"%[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?L?[aefgAEFG](?![a-z])")
LOCALE_NAME = re.compile(
    r"\b(?:o?stringstream|strto(?:d|f|ld)|sto(?:d|f|ld)|atof|sscanf|to(?:lower|upper)"
    r"|is(?:alnum|alpha|lower|punct|space|upper))\b"
)
SUBJECTS_SINCE = "2026-11-26T22:00"
TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
TYPE_OR_NAMESPACE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{")
TYPE = re.compile(
    r"(?:class|struct|union|enum(?: class)?)\b(?: \[\[\w+\]\])? (\w+)(?: final)?(?: ?: [^;]*)? ?\{"
)
# The text that may stand between a function's parameters and its body.
FUNCTION_HEAD = re.compile(
    r"\)\s*((const|noexcept(\([^)]*\))?|override|final|mutable|&{1,2})\s*)*"
    r"(->[^;{}=]+|requires[^;{}]+|:[^:].*)?\s*$",
    re.DOTALL,
)
LITERALS_AND_COMMENTS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<raw>[^()\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)


@dataclass(frozen=True)
class Complaint:
    """One broken rule at one place."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def without_literals(text: str) -> str:
    """Returns C++ text with comments and literals blanked out; lines keep their numbers."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    return LITERALS_AND_COMMENTS.sub(blank, text)


def room_of(file: Path) -> str | None:
    """Returns the folder of src/ that `file`, relative to the root, belongs to."""
    return file.parts[1] if len(file.parts) > 2 and file.parts[0] == "src" else None


def check_includes(file: Path, text: str) -> Iterator[Complaint]:
    """Checks that a file of src/ includes only headers that ROOMS allows, and mpi.h only where it may."""
    room = room_of(file)
    if room is None:
        return
    if room not in ROOMS:
        yield Complaint(file, 1, f"src/{room} is not a room that dev/tidy.py knows")
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, name = found.groups()
        target = name.partition("/")[0] if "/" in name else room
        if name == "mpi.h" and room not in MPI_FOLDERS:
            yield Complaint(file, number, "mpi.h is for src/mpi and src/bind only")
        elif quote == '"' and target in ROOMS and target != room and target not in ROOMS[room]:
            yield Complaint(file, number, f"{room}/ may not include {target}/")


def check_mpi_names(file: Path, text: str) -> Iterator[Complaint]:
    """Reports MPI's names outside the two folders that know MPI."""
    room = room_of(file)
    if room is None or room in MPI_FOLDERS:
        return
    for number, line in enumerate(without_literals(text).splitlines(), 1):
        found = MPI_NAME.search(line)
        if found:
            yield Complaint(file, number, f"{found.group()} is for src/mpi and src/bind only")


def check_kinds(file: Path, text: str) -> Iterator[Complaint]:
    """Reports code that names the kinds of a method's parts, outside the tables that have a row for each
    kind."""
    if room_of(file) is None or file.as_posix() in KIND_TABLES:
        return
    for number, line in enumerate(without_literals(text).splitlines(), 1):
        found = KIND.search(line)
        if found:
            yield Complaint(file, number, f"{found.group()} is for tables of parts: ask the part's facts")


def check_vouching(file: Path, text: str) -> Iterator[Complaint]:
    """Reports calls of vouch() outside the collective helpers, which alone may make agreed values."""
    if room_of(file) is None or file.as_posix() in VOUCHERS:
        return
    for number, line in enumerate(without_literals(text).splitlines(), 1):
        if VOUCH.search(line):
            yield Complaint(file, number, "Agreed values are made by collective helpers and agreed_from()")


def functions(text: str) -> Iterator[tuple[int, int]]:
    """Yields (first line, number of lines) of each function in C++ text, head included.

    A function is a brace that follows a parameter list and is inside no other function.
    """
    plain = without_literals(text)
    plain = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda found: re.sub(r"[^\n]", " ", found.group()),
                   plain, flags=re.MULTILINE)  # fmt: skip
    kinds: list[str] = []
    head_start = body_start = 0
    for place, char in enumerate(plain):
        if char == "{":
            head = plain[head_start:place]
            if "function" in kinds or "other" in kinds:
                kinds.append("inner")
            elif FUNCTION_HEAD.search(head) and not re.search(r"=\s*$", head):
                kinds.append("function")
                body_start = head_start + len(head) - len(head.lstrip())
            elif TYPE_OR_NAMESPACE.search(head):
                kinds.append("container")
            else:
                kinds.append("other")
            head_start = place + 1
        elif char == "}" and kinds:
            if kinds.pop() == "function":
                first = plain.count("\n", 0, body_start) + 1
                yield first, plain.count("\n", body_start, place) + 1
            head_start = place + 1
        elif char == ";":
            head_start = place + 1


def check_descriptors(file: Path, text: str) -> Iterator[Complaint]:
    """Reports descriptors that could get the number of standard input, output or error."""
    if room_of(file) is None:
        return
    code = without_literals(text)
    for found in MAKES_DESCRIPTOR.finditer(code):
        if not OWNS_DESCRIPTOR.search(code, code.rfind(";", 0, found.start()) + 1, found.start()):
            line = code.count("\n", 0, found.start()) + 1
            yield Complaint(file, line, f"{found.group()}): give the descriptor to a Descriptor or a Socket")
    for found in STREAM.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        yield Complaint(file, line, f"{found.group()} opens a file: use a Descriptor, or base/small_file")


def check_standard_error(file: Path, text: str) -> Iterator[Complaint]:
    """Reports messages that bypass base/standard_error: a program may have a data file on descriptor 2."""
    if room_of(file) is None or file.as_posix() in STANDARD_ERROR_FILES:
        return
    for number, line in enumerate(without_literals(text).splitlines(), 1):
        found = STANDARD_ERROR.search(line)
        if found:
            yield Complaint(file, number, f"{found.group()} may be a data file: use write_to_standard_error")


def check_locale(file: Path, text: str) -> Iterator[Complaint]:
    """Reports text of src/ that depends on the locale of the user's program: others couldn't read it."""
    if room_of(file) is None:
        return
    for literal in LITERALS_AND_COMMENTS.finditer(text):
        found = FLOATING_FORMAT.search(literal.group())
        if found and literal.group().startswith('"'):
            line = text.count("\n", 0, literal.start()) + 1
            yield Complaint(file, line, f"{found.group()} depends on the locale: use base/decimal")
    for number, line in enumerate(without_literals(text).splitlines(), 1):
        if (found := LOCALE_NAME.search(line)) and not line.lstrip().startswith("#"):
            told = f"{found.group()} depends on the locale: use base/decimal, base/string_util or from_chars"
            yield Complaint(file, number, told)


def check_sizes(file: Path, text: str) -> Iterator[Complaint]:
    """Checks the length of the file and of its functions."""
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        yield Complaint(file, lines, f"{lines} lines; a file has at most {FILE_LINES_MAX}")
    if file.suffix not in CXX_SUFFIXES - {".def"}:
        return
    for first, count in functions(text):
        if count > FUNCTION_LINES_MAX:
            told = f"a function of {count} lines; it has at most {FUNCTION_LINES_MAX}"
            yield Complaint(file, first, told)


def parameters(head: str) -> int:
    """Returns the number of parameters of a function, given the text before its body."""
    depth = angles = commas = 0
    begin = head.find("(")
    for place, char in enumerate(head[begin:], begin):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return commas + 1 if head[begin + 1 : place].strip() else 0
        if char == "<":
            angles += 1
        elif char == ">" and head[place - 1] != "-":
            angles = max(0, angles - 1)
        commas += char == "," and depth == 1 and angles == 0
    return 0


def check_parameters(file: Path, text: str) -> Iterator[Complaint]:
    """Limits the parameters of functions of src/. Entry points are exempt, because the standard fixes their
    parameters."""
    lines = without_literals(text).splitlines()
    for first, count in functions(text):
        head = "\n".join(lines[first - 1 : first + count]).partition("{")[0]
        found = parameters(head)
        if found > PARAMETERS_MAX and "ORATORIO_ENTRY" not in head and room_of(file):
            yield Complaint(file, first, f"{found} parameters; a function has at most {PARAMETERS_MAX}")


def check_virtuals(file: Path, text: str) -> Iterator[Complaint]:
    """Limits virtual functions of abstract classes, except for WIDE, which represent an MPI and a file
    system."""
    plain = without_literals(text)
    for found in ABSTRACT.finditer(plain):
        body = plain[found.end() : plain.find("\n};", found.end())]
        virtuals = len(re.findall(r"\bvirtual\b(?!\s*~)", body))
        if virtuals > VIRTUALS_MAX and found.group(1) not in WIDE:
            told = f"{virtuals} virtual functions; an abstract class has at most {VIRTUALS_MAX}"
            yield Complaint(file, plain.count("\n", 0, found.start()) + 1, told)


def check_license(file: Path, text: str) -> Iterator[Complaint]:
    """Requires the license in each source, so that a file that is copied elsewhere keeps it."""
    if LICENSE not in "".join(text.splitlines(keepends=True)[:2]):
        yield Complaint(file, 1, f"the first line (after #!) must be a comment: {LICENSE}")


def check_todos(file: Path, text: str) -> Iterator[Complaint]:
    """Requires an issue for each TODO, because work left over must be on the list of issues."""
    if file.name in ("tidy.py", "test_tidy.py"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = TODO.search(line)
        if found:
            yield Complaint(file, number, f"{found.group()} without an issue: write TODO(#number)")


def check_wording(file: Path, text: str) -> Iterator[Complaint]:
    """Checks the wording of comments."""
    if file.name in ("wording.py", "test_tidy.py"):
        return
    for line, advice in wording.of_text(text, "c" if file.suffix in CXX_SUFFIXES else "hash"):
        yield Complaint(file, line, advice)


def check_subjects(subjects: list[str]) -> Iterator[str]:
    """Checks the subjects of commits."""
    for subject in subjects:
        for wrong in wording.of_subject(subject):
            yield f"commit `{subject}`: {wrong}"


def recent_subjects() -> list[str]:
    """Returns the subjects of commits since SUBJECTS_SINCE, the time of the rules for subjects; none outside
    a git checkout."""
    words = ["git", "-C", ROOT, "log", "--no-merges", "--since", SUBJECTS_SINCE, "--format=%s"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []


def types_of(text: str) -> Iterator[tuple[int, str]]:
    """Yields (line, qualified name) of each type that a file defines in a namespace, but not in an anonymous
    one or in another type."""
    namespaces: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened := NAMESPACE.match(line):
            namespaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif (found := TYPE.match(line)) and all(namespaces):
            yield number, "::".join([*namespaces, found[1]])


def check_types(files: list[tuple[Path, str]]) -> Iterator[Complaint]:
    """Complains about types with the same qualified name."""
    first: dict[str, Path] = {}
    for file, text in files:
        for line, name in types_of(text):
            other = first.setdefault(name, file)
            if other != file:
                yield Complaint(file, line, f"{name} is also defined in {other}: rename one of them")


def check(file: Path, text: str) -> list[Complaint]:
    """Returns all complaints about one file except a missing license; `file` is relative to the root."""
    found = [*check_sizes(file, text), *check_todos(file, text)]
    if file.suffix in CXX_SUFFIXES | {".py"}:
        found += check_wording(file, text)
    if file.suffix in CXX_SUFFIXES:
        found += [*check_includes(file, text), *check_mpi_names(file, text)]
        found += [*check_kinds(file, text), *check_vouching(file, text)]
        found += [*check_descriptors(file, text), *check_standard_error(file, text)]
        found += check_locale(file, text)
        found += [*check_parameters(file, text), *check_virtuals(file, text)]
    return found


def check_whole(file: Path, text: str) -> list[Complaint]:
    """Returns all complaints about one file: those of check(), and that of a missing license."""
    return [*check_license(file, text), *check(file, text)]


def main() -> int:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*"))]
    texts = [
        (file.relative_to(ROOT), file.read_text())
        for file in files
        if file.suffix in SUFFIXES and file.is_file()
    ]
    complaints: list[Complaint | str] = [one for file, text in texts for one in check_whole(file, text)]
    complaints += check_types([(file, text) for file, text in texts if file.parts[0] == "src"])
    complaints += check_subjects(recent_subjects())
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
