# SPDX-License-Identifier: BSD-3-Clause
"""Tests that dev/tidy.py finds every kind of fault that it promises to find, and no other."""

from pathlib import Path

import pytest
import tidy


def complaints(name: str, text: str) -> list[str]:
    return [complaint.text for complaint in tidy.check(Path(name), text)]


@pytest.mark.parametrize(
    ("file", "included"),
    [
        ("src/base/a.hpp", "type/shape.hpp"),
        ("src/store/a.cpp", "plan/plan.hpp"),
        ("src/store/a.cpp", "type/shape.hpp"),
        ("src/exchange/a.cpp", "store/store.hpp"),
        ("src/mpi/a.cpp", "plan/plan.hpp"),
        ("src/file/a.cpp", "bind/handle.hpp"),
        ("src/engine/a.cpp", "file/file.hpp"),
    ],
)
def test_an_include_from_a_room_above_is_refused(file, included):
    assert len(complaints(file, f'#include "{included}"\n')) == 1


@pytest.mark.parametrize(
    ("file", "included"),
    [
        ("src/engine/a.cpp", "store/store.hpp"),
        ("src/bind/a.cpp", "mpi/comm.hpp"),
        ("src/type/a.cpp", "type/shape.hpp"),
        ("src/type/a.cpp", "shape.hpp"),
        ("tests/sim/a.cpp", "bind/handle.hpp"),
    ],
)
def test_an_include_from_a_room_below_is_fine(file, included):
    assert complaints(file, f'#include "{included}"\n') == []


def test_a_folder_without_a_room_is_refused():
    assert len(complaints("src/attic/a.cpp", "int a;\n")) == 1


@pytest.mark.parametrize("include", ["#include <mpi.h>", '#  include "mpi.h"'])
def test_mpi_h_is_for_mpi_and_bind(include):
    assert len(complaints("src/engine/a.cpp", include + "\n")) == 1
    assert complaints("src/mpi/a.cpp", include + "\n") == []
    assert complaints("src/bind/a.cpp", include + "\n") == []


def test_mpi_names_are_for_mpi_and_bind_but_may_be_mentioned():
    assert len(complaints("src/file/a.cpp", "int a = PMPI_Barrier(c);\n")) == 1
    assert complaints("src/bind/a.cpp", "int a = PMPI_Barrier(c);\n") == []
    assert complaints("src/file/a.cpp", '// as MPI_File_open\nauto a = "MPI_File_open";\n') == []
    assert complaints("src/file/a.cpp", "/* MPI_File_open\n   MPI_File_close */\n") == []


def test_kinds_of_parts_are_for_their_tables():
    text = "bool talks = method.exchange == ExchangeKind::peer;\n"
    assert len(complaints("src/engine/run.cpp", text)) == 1
    assert complaints("src/exchange/exchange.cpp", text) == []
    assert complaints("tests/unit/plan/plan_test.cpp", text) == []
    assert complaints("src/engine/run.cpp", "// as ExchangeKind says\n") == []


def test_agreed_values_are_made_by_collective_helpers():
    text = "const auto mine = Agreed<int>::vouch(rank);\n"
    assert len(complaints("src/plan/plan.cpp", text)) == 1
    assert complaints("src/comm/agreed.cpp", text) == []
    assert complaints("tests/unit/plan/plan_test.cpp", text) == []
    assert complaints("src/plan/plan.cpp", "// who may vouch(for it)\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "void f() { const int file = ::open(path, O_RDONLY | O_CLOEXEC); }\n",
        "int listener = ::socket(AF_INET, SOCK_STREAM, 0);\n",
        "Descriptor one(1);\nint two = eventfd(0, EFD_CLOEXEC);\n",
        "int memory = shm_open(name, O_RDWR, 0);\n",
        'std::ifstream boot("/proc/version");\n',
        'FILE* log = fopen("log", "w");\n',
    ],
)
def test_descriptors_are_owned_so_that_none_is_a_standard_one(text):
    assert len(complaints("src/base/a.cpp", text)) == 1
    assert complaints("tests/unit/base/a_test.cpp", text) == []


@pytest.mark.parametrize(
    "text",
    [
        "const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));\n",
        "Descriptor file(uninterrupted([&] {\n    return ::open(path, flags);\n}));\n",
        "Socket socket(::accept4(number, nullptr, nullptr, SOCK_CLOEXEC));\n",
        "auto door = Door::open();\nResult<void> open();\nfile.open(path);\n",
        "// std::ifstream opens a file; so does fopen(path)\n",
    ],
)
def test_owned_descriptors_and_other_opens_are_fine(text):
    assert complaints("src/base/a.cpp", text) == []


@pytest.mark.parametrize(
    "text", ['std::fprintf(stderr, "no");\n', "::write(STDERR_FILENO, a, b);\n", "std::cerr << a;\n"]
)
def test_messages_go_to_the_original_standard_error(text):
    assert len(complaints("src/bind/a.cpp", text)) == 1
    assert complaints("src/base/standard_error.cpp", text) == []
    assert complaints("lab/bench/a.cpp", text) == []
    assert complaints("src/bind/a.cpp", "/// Says why on stderr.\n") == []


@pytest.mark.parametrize(
    "text",
    [
        'std::snprintf(text, sizeof text, "%.6g", value);\n',
        'std::snprintf(text, sizeof text, "%-12s %+8.*f\\n", name, 3, value);\n',
        'std::snprintf(text, sizeof text, "%Le", value);\n',
        "std::ostringstream out;\n",
        "double value = std::strtod(text, &end);\n",
        "c = static_cast<char>(std::tolower(c));\n",
    ],
)
def test_text_that_depends_on_the_locale_is_refused(text):
    assert len(complaints("src/plan/a.cpp", text)) == 1
    assert complaints("lab/count/a.cpp", text) == []


def test_other_formats_are_fine():
    text = 'std::snprintf(text, sizeof text, "%d of %016llx, 5 %for all", i, n);  // not %g, not tolower(c)\n'
    assert complaints("src/plan/a.cpp", text) == []


def test_a_file_of_600_lines_is_fine_and_of_601_is_not():
    assert complaints("src/base/a.cpp", "int a;\n" * 600) == []
    assert len(complaints("src/base/a.cpp", "int a;\n" * 601)) == 1


def body(lines: int) -> str:
    return "    ++a;\n" * lines


@pytest.mark.parametrize(
    "head",
    [
        "int f(int a) {",
        "Result<int> File::f(int a) const noexcept {",
        "auto f(int a) -> int {",
        "Thing::Thing(int a) : a_(a), b_(g(a)) {",
        "struct S { void f(int a) {",
        "namespace n {\nclass C : public B {\n  public:\n    void f(int a) override {",
        'extern "C" int f(int a) {',
        "template <class T>\nstatic T f(std::map<T, int> a) {",
    ],
)
def test_a_function_of_more_than_60_lines_is_refused(head):
    closing = "}" * (head.count("{"))
    assert complaints("src/base/a.cpp", f"{head}\n{body(56)}{closing}\n") == []
    assert len(complaints("src/base/a.cpp", f"{head}\n{body(60)}{closing}\n")) == 1


@pytest.mark.parametrize("head", ["constexpr Row rows[] = {", "enum class E {", "namespace n {"])
def test_a_long_table_is_no_function(head):
    assert complaints("src/base/a.cpp", f"{head}\n" + "    one,\n" * 100 + "};\n") == []


def test_braces_in_literals_and_macros_are_not_counted():
    text = 'int f() {\n    g("}", \'{\', R"x(}})x");  // }\n' + "#define M(a) {\\\n  a\n" + body(60) + "}\n"
    assert len(complaints("src/base/a.cpp", text)) == 1


def test_lambdas_count_towards_their_function():
    text = "int f() {\n    auto g = [&](int a) {\n" + body(60) + "    };\n}\n"
    assert len(complaints("src/base/a.cpp", text)) == 1


def test_digit_separators_do_not_open_a_literal():
    text = "int f() { return 1'000 + 2'000; }\n" + "int g() {\n" + body(60) + "}\n"
    assert len(complaints("src/base/a.cpp", text)) == 1


def test_a_todo_needs_an_issue():
    assert len(complaints("src/base/a.cpp", "// TODO: later\n")) == 1
    assert len(complaints("dev/a.py", "# FIXME\n")) == 1
    assert complaints("src/base/a.cpp", "// TODO(#12): when the hint is there\n") == []


def test_a_function_with_seven_parameters_is_refused():
    seven = "int f(int a, int b, std::map<int, int> c, int d, int e, int f, int g) {\n}\n"
    assert complaints("src/base/a.cpp", seven) == ["7 parameters; a function has at most 6"]
    assert complaints("src/base/a.cpp", seven.replace(", int g", "")) == []
    assert complaints("src/bind/a.cpp", "ORATORIO_ENTRY " + seven) == []


def test_an_abstract_class_with_nine_virtuals_is_refused():
    body = "    virtual ~A() = default;\n" + "    virtual void f() = 0;\n" * 9
    told = ["9 virtual functions; an abstract class has at most 8"]
    assert complaints("src/base/a.hpp", "class A {\n" + body + "};\n") == told
    assert complaints("src/base/a.hpp", "class Store {\n" + body + "};\n") == []


def test_two_types_with_one_name_are_refused():
    one = "namespace oratorio {\nstruct Opened {\n};\n}  // namespace oratorio\n"
    hidden = (
        "namespace oratorio {\nnamespace {\nstruct Opened {\n};\n}  // namespace\n}  // namespace oratorio\n"
    )
    other = one.replace("oratorio", "oratorio::test")
    final = one.replace("struct Opened", "class Opened final : public Base")
    files = [(Path(f"src/{name}.hpp"), text) for name, text in zip("abc", (one, hidden, other), strict=True)]
    assert not list(tidy.check_types(files))
    (complaint,) = tidy.check_types([*files, (Path("src/d.hpp"), final)])
    assert "oratorio::Opened is also defined in src/a.hpp" in complaint.text


def test_a_source_without_its_license_is_refused():
    named = "// SPDX-License-Identifier: BSD-3-Clause\n"
    told = ["the first line (after #!) must be a comment: SPDX-License-Identifier: BSD-3-Clause"]
    assert [one.text for one in tidy.check_whole(Path("src/base/a.cpp"), "int a;\nint b;\n" + named)] == told
    assert tidy.check_whole(Path("src/base/a.cpp"), named + "int a;\n") == []
    script = "#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n"
    assert tidy.check_whole(Path("dev/a.sh"), script) == []


@pytest.mark.parametrize(
    "comment",
    ["// Opens the file anew.", "/// Of each rank.", "/// Whoever waits.", "// The rank is told of it."],
)
def test_a_comment_that_needs_decoding_is_refused(comment):
    assert len(complaints("src/base/a.cpp", f"{comment}\nint a;\n")) == 1


@pytest.mark.parametrize(
    "comment",
    [
        "// Opens the file again.",
        "/// The size of each rank's data.",
        "// See the book The Design\n// Of Everyday Things.",
    ],
)
def test_a_sentence_that_stands_alone_is_fine(comment):
    assert complaints("src/base/a.cpp", f"{comment}\nint a;\n") == []


@pytest.mark.parametrize(
    ("subject", "wrong"),
    [
        ("engine: pipeline read-modify-write", 0),
        ("cli, lab, dev: sort the tools by audience", 0),
        ("engine: pipelined writes", 1),
        ("engine: adds a lock", 1),
        ("Tests that compute hardly anything are compiled without the optimiser", 1),
        ("engine: pipeline read-modify-write, and then also change a number of other things", 1),
    ],
)
def test_subjects_of_commits_are_short_and_imperative(subject, wrong):
    assert len(list(tidy.check_subjects([subject]))) == wrong
