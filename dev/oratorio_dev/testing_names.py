# SPDX-License-Identifier: BSD-3-Clause
"""The names of all tests as their sources show them, for `oratorio test -k`: which parts have tests of these
names, and which programs these tests need.

./oratorio calls this module with any Python, before it installs or builds anything. Names that only a
program knows (values of parameters) are taken from the last build, if there was one.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oratorio.command_line import Parser
from oratorio.errors import REFUSED, OratorioError, tell
from oratorio.paths import BUILD, ROOT
from oratorio_dev.testing_parts import MACHINES, PARTS, SHORT, SITE, parts_of

TESTS = ROOT / "tests"
# Sources of words in the values of tests' parameters: names of methods and of MPIs.
SHARED = ("cli/oratorio/library/description.json", "cli/oratorio/launch/hosts.py")
# Libraries that tests under mpiexec load in addition to their own program.
LIBRARIES = ("oratorio", "oratorio-mpich", "oratorio-ompi", "oratorio-abi", "oratorio_yielding")
GOOGLE_TEST = re.compile(r"^TEST(_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
PYTHON_TEST = re.compile(r"^\s*(?:def|class) ([tT]est\w*)", re.MULTILINE)
METHOD = re.compile(r'\.name = "(\w+)"')
MPI_TEST = re.compile(r"(?:oratorio_mpi_test\(|add_test\(NAME )([\w.]+)[ )]")
# A test that CMake knows: its name and the program that it runs.
KNOWN_TEST = re.compile(r"^add_test\(\[=\[(.+?)\]=\](.*)", re.MULTILINE)
PROGRAM = re.compile(r"/tests/(?:mpi/|oracle/|fuzz/)?((?:unit|sim|oracle|example|sanitized|replay|mpi)_\w+)")


@dataclass(frozen=True)
class Group:
    """Tests that are built or run together: those of a C++ program, or of a file of Python tests."""

    name: str  # the program, or the file relative to the root; "" if the tests' program is unknown
    tests: Collection[str]
    # Text with words that the names of further tests may have; empty if `tests` has all names.
    open_ended: str = ""


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


@cache
def _built() -> dict[str, set[str]]:
    """Returns program -> names of its tests, of the last build."""
    found = defaultdict(set)
    for file in (BUILD / "tests").rglob("*.cmake"):
        if file.name == "CTestTestfile.cmake" or file.name.endswith("_tests.cmake"):
            for name, command in KNOWN_TEST.findall(_text(file)):
                program = PROGRAM.search(command)
                found[program[1] if program else ""].add(name)
    return found


def _names_in(text: str, prefix: str) -> Iterator[str]:
    """Yields the names of the tests that macros of GoogleTest define, one for each method where a suite has
    methods as parameters."""
    methods = METHOD.findall(_text(ROOT / "src/plan/methods.cpp")) if "method_names()" in text else []
    for kind, suite, name in GOOGLE_TEST.findall(text.replace("DISABLED_", "")):
        yield f"{prefix}{suite}.{name}"
        if kind == "_P":
            instances = re.findall(rf"INSTANTIATE_TEST_SUITE_P\(\s*(\w*),\s*{suite}\b", text) or [""]
            for instance in instances:
                test = f"{prefix}{instance}/{suite}.{name}/".replace("./", ".")
                yield from (test + method for method in methods or [""])


def _program(name: str, prefix: str, *files: Path) -> Group:
    text = "".join(map(_text, files))
    is_open = "TEST_P(" in text
    tests = {*_names_in(text, prefix), *_built().get(name, ())}
    return Group(name, tests, text if is_open else "")


def _example() -> Group:
    """Returns the tests of the example method of docs/internals/adding-a-method.md, among them the engine's
    tests with that method."""
    engine = _names_in(_text(TESTS / "sim/engine_test.cpp"), "example.")
    of_method = {re.sub(r"/\w+$", "/descending", name) for name in engine if "/" in name}
    own = _program("example_method", "example.", *TESTS.glob("example/*_test.cpp"))
    return Group(own.name, of_method.union(own.tests))


def _programs_of(folder: Path, start: str) -> list[Group]:
    """Returns the programs of a folder of tests, as oratorio_programs() of tests/CMakeLists.txt groups them.
    The programs' names begin with `start`."""
    lists = re.findall(
        r"set\((?:alone|plain|never_sanitized)\b(.*?)\)", _text(TESTS / "CMakeLists.txt"), re.DOTALL
    )
    alone = " ".join(lists).split()
    sources = defaultdict(list)
    for file in sorted(folder.glob("*_test.cpp")):
        own = f"{start}_{file.stem}"
        sources[own if own in alone else f"{start}_test"].append(file)
    prefix = start.replace("_", ".", 1) + "."
    return [_program(name, prefix, *files) for name, files in sources.items()]


def programs() -> list[Group]:
    """Returns the tests in C++ that need no MPI."""
    found = _programs_of(TESTS / "sim", "sim")
    for folder in TESTS.glob("unit/*"):
        found += _programs_of(folder, f"unit_{folder.name}")
    found += [
        _program("oracle_test", "oracle.", *TESTS.glob("oracle/*_test.cpp")),
        _example(),
        _program("sanitized_finding_test", "sanitized.", *TESTS.glob("sanitized/*_test.cpp")),
    ]
    fuzzers = re.findall(r"^oratorio_fuzzer\((\w+)", _text(TESTS / "fuzz/CMakeLists.txt"), re.MULTILINE)
    return found + [Group(f"replay_{name}", [f"fuzz.{name}"]) for name in fuzzers]


def mpi_programs() -> list[Group]:
    """Returns the tests that run under mpiexec."""
    known = {name: {one for one in tests if one.startswith(("mpi.", "bind."))}
             for name, tests in _built().items()}  # fmt: skip
    groups = [Group(name, tests) for name, tests in known.items() if tests and name]
    text = "".join(map(_text, [TESTS / "mpi/CMakeLists.txt", *sorted(TESTS.glob("mpi/*.cmake"))]))
    built = " ".join(test for tests in known.values() for test in tests)
    fresh = [f"mpi.{name}".replace("mpi.bind.exports", "bind.exports") for name in MPI_TEST.findall(text)]
    return [*groups, Group("", [name for name in fresh if f"{name}." not in built], text)]


def python_files(files: Iterable[Path]) -> list[Group]:
    """Returns the tests of files that pytest runs."""
    shared = "".join(_text(ROOT / name) for name in SHARED)
    groups = []
    for file in files:
        text, name = _text(file), file.relative_to(ROOT).as_posix()
        more = text + shared + _text(file.with_name("conftest.py"))
        tests = [f"{name}::{test}" for test in PYTHON_TEST.findall(text)]
        groups.append(Group(name, tests, more if "param" in more else ""))
    return groups


def groups_of(part: str, is_short: bool) -> list[Group]:
    """Returns the tests of a part of the test command; none for lint."""
    machines = {ROOT / name for name in MACHINES}
    if part == "tools":
        return python_files(set(TESTS.glob("tools/test_*.py")) - ({ROOT / SITE} if is_short else set()))
    if part == "programs":
        found = set(TESTS.glob("programs/test_*.py")) - machines
        return python_files(file for file in found if not is_short or "mark.short" in _text(file))
    if part == "machines":
        return python_files(machines)
    if part == "mpi":
        return mpi_programs()
    both = mpi_programs() if part == "thread-all" else []
    return [] if part == "lint" else [*programs(), *both]


def _in_expression(names: str, text: str) -> bool:
    """Returns whether a text satisfies an expression of pytest's -k without `not`; false if pytest refuses
    it."""
    text = text.lower()
    truth = re.sub(
        r"[^\s()]+",
        lambda word: word[0] if word[0] in ("and", "or") else str(word[0].lower() in text),
        names,
    )
    if re.search(r"(True|False|\))\s*(True|False|\()", truth):
        return False  # two operands without an operator
    try:
        return bool(eval(truth, {"__builtins__": {}}))
    except SyntaxError:
        return False


def _matcher(part: str, names: str) -> Callable[[str], bool]:
    """Returns a function that says whether a test's name matches, as the part's runner would. All names match
    an expression that this module can't judge."""
    if part in ("tools", "programs", "machines"):
        if re.search(r"\bnot\b", names):
            return lambda name: True
        return lambda name: _in_expression(names, name)
    try:
        return re.compile(names).search
    except re.error:
        return lambda name: True


def matching(parts: Iterable[str], names: str, is_short: bool) -> dict[str, list[Group]]:
    """Returns part -> its groups that have tests of these names, without parts that have none. If no
    known name matches, returns the groups with sources that have all words of `names`, because the value of
    a parameter may consist of these words. Raises OratorioError if there is no such group."""
    groups = {part: groups_of(part, is_short) for part in parts}
    found = {
        part: [group for group in known if any(map(_matcher(part, names), group.tests))]
        for part, known in groups.items()
    }
    if not any(found.values()):
        words = [word.lower() for word in re.findall(r"[^\W\d_]+", names)]
        found = {
            part: [one for one in known if all(word in one.open_ended.lower() for word in words)]
            for part, known in groups.items()
        }
    if not any(found.values()):
        raise OratorioError(f"no test of {', '.join(parts)} has a name that matches -k {names}")
    return {part: known for part, known in found.items() if known}


def needs_of(part: str, groups: Collection[Group], is_short: bool) -> list[str]:
    """Returns what has to be set up for groups of a part: FOLDER:PROGRAM,... or the name of a part that is
    set up as a whole."""
    names = [group.name for group in groups]
    if part == "tools":
        return ["docs"] if SITE in names else []
    if part in ("programs", "machines") or "" in names:
        return ["short" if is_short else part]
    folder = {"sanitize": "build-sanitize", "thread": "build-thread", "thread-all": "build-thread"}
    libraries = LIBRARIES if part in ("mpi", "thread-all") else ()
    return [f"{folder.get(part, 'build')}:{','.join([*libraries, *sorted(names)])}"]


def main() -> int:
    """Prints what has to be set up for `oratorio test` with the arguments of this command."""
    parser = Parser(prog="oratorio test")
    parser.add_argument("--only", action="append")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("-k", dest="names")
    options, _ = parser.parse_known_args()
    if set(options.only or ()) - set(PARTS):
        return 0  # the command itself reports the unknown part
    parts = parts_of(options.only, options.all)
    is_short = parts is SHORT
    try:
        found = matching(parts, options.names, is_short)
    except OratorioError as error:
        tell(str(error))
        return REFUSED
    needs = [word for part, groups in found.items() for word in needs_of(part, groups, is_short)]
    print(*dict.fromkeys(needs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
