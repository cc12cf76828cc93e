#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generates everything that follows from src/bind/mpi_file.def, the table of the procedures of MPI's I/O
chapter.

bindings.py TABLE --out DIR     entry.cpp and the rest of the sources, the linker version scripts
bindings.py TABLE --docs FILE   the users' table of procedures
bindings.py TABLE --names       one exported C name per line, and the Fortran names of all hosts and of Open MPI
"""

import argparse
import pathlib
import re
import sys

KINDS = {
    "call": "works",
    "access": "works",
    "start": "works",
    "begin": "works",
    "end": "works",
    "beside": "works",
    "fortran": "works (Fortran name that in Open MPI does not call the C procedure)",
    "fortran_all": "works (Fortran name: takes Fortran procedures as callbacks)",
}

# The parameters that differ between a procedure and its large-count twin (MPI-4.1, section 19.2).
LARGE_TYPES = {
    "int count": "MPI_Count count",
    "MPI_Aint* extent": "MPI_Count* extent",
    "MPI_Datarep_conversion_function* read_conversion_fn": "MPI_Datarep_conversion_function_c* read_conversion_fn",
    "MPI_Datarep_conversion_function* write_conversion_fn": "MPI_Datarep_conversion_function_c* write_conversion_fn",
}


FORTRAN_KINDS = ("fortran", "fortran_all")
CALIBRATE = "oratorio_calibrate"  # lab/calibrate/messages.cpp; `oratorio calibrate` calls it


class Procedure:
    """One procedure of C or Fortran: a row of the table, or the large-count twin of one."""

    def __init__(self, kind, returns, name, parameters, base=None):
        self.kind = kind
        self.returns = returns
        self.name = name
        self.parameters = parameters
        self.base = base  # the procedure with int counts, if this one is its large-count twin

    @property
    def arguments(self):
        return [re.split(r"[ *]", parameter)[-1] for parameter in self.parameters]

    @property
    def implementation(self):
        """The name of the implementation, which both twins share: MPI_File_get_size -> file_get_size."""
        return (self.base or self).name.partition("_")[2].lower()

    def signature(self):
        return f"{self.returns} {self.name}({', '.join(self.parameters)})"


def split_parameters(text):
    """Splits a parameter list at the commas that are outside parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def read_table(path):
    procedures = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        line = text.split("#")[0].strip()
        if not line:
            continue
        row = re.fullmatch(r"(\w+)\s+(\+c\s+)?([\w ]+?)\s+(\w+)\((.*)\)", line)
        if not row or row[1] not in KINDS:
            sys.exit(f"{path}:{number}: not a row: {line}")
        kind, twin, returns, name, parameters = row.groups()
        base = Procedure(kind, returns, name, split_parameters(parameters))
        procedures.append(base)
        if twin:
            large = [LARGE_TYPES.get(parameter, parameter) for parameter in base.parameters]
            procedures.append(Procedure(kind, returns, name + "_c", large, base))
    return procedures


def host_condition(procedure):
    """Returns the C++ condition under which a call is passed to the host: the library is off, the host opened
    the file, or no request of Oratorio exists. None if nothing is checked."""
    if procedure.kind == "beside":
        return "!requests_of_ours()" if "request" in " ".join(procedure.arguments) else None
    if procedure.parameters[0] == "MPI_File fh":
        return "belongs_to_host(fh)"
    return "disabled()"


def host_call(procedure):
    """Returns statements that pass the call to the host. If the host lacks the large-count procedure, they
    call the one with int counts, provided that the count fits into an int."""
    arguments = ", ".join(procedure.arguments)
    call = f"ORATORIO_HOST({procedure.name})"
    if procedure.base is None:
        return [f"return {call}({arguments});"]
    lines = [f"const auto large = {call};"]
    base = procedure.base
    narrow = None
    if "count" in procedure.arguments:
        narrow = arguments.replace("count", "static_cast<int>(count)")
        condition = "large.present() || !fits_int(count)"
    elif "extent" in procedure.arguments:
        narrow = arguments.replace("extent", "reinterpret_cast<MPI_Aint*>(extent)")
        condition = "large.present()"
    if narrow is None:
        return [f"return {call}({arguments});"]
    return [
        *lines,
        f"if ({condition}) return large({arguments});",
        f"return ORATORIO_HOST({base.name})({narrow});",
    ]


def own_call(procedure):
    """Returns the statement that answers the call in Oratorio."""
    arguments = procedure.arguments
    direction = "Direction::read" if "read" in procedure.name else "Direction::write"
    collective = "true" if "_all" in procedure.name or "_ordered" in procedure.name else "false"
    shared = "_shared" in procedure.name or "_ordered" in procedure.name
    explicit = "_at" in procedure.name
    at = f"Positioning::{'shared' if shared else 'explicit_offset' if explicit else 'individual'}"
    form = f"{{{direction}, {collective}, {at}, {'offset' if explicit else 0}, buf, count, datatype}}"
    if procedure.kind == "access":
        return f"return access({form}, status, fh);"
    if procedure.kind == "start":
        return f"return start({form}, request, fh);"
    if procedure.kind == "begin":
        return f"return begin_split({form}, fh);"
    if procedure.kind == "end":
        return f"return end_split({direction}, {at}, buf, status, fh);"
    return f"return {procedure.implementation}({', '.join(arguments)});"


# Procedures that do not begin with a check of the host. The conversions of handles treat files of the host
# and of Oratorio in one place, and MPI_File_open decides for all ranks together.
EITHER_SIDE = ("MPI_File_open", "MPI_File_c2f", "MPI_File_f2c", "MPI_File_toint", "MPI_File_fromint")


def entry_point(procedure):
    lines = [f"ORATORIO_ENTRY {procedure.signature()} {{"]
    condition = None if procedure.name in EITHER_SIDE else host_condition(procedure)
    if condition:
        lines.append(f"    if ({condition}) {{")
        lines += ["        " + line for line in host_call(procedure)]
        lines.append("    }")
    if procedure.name == "MPI_File_open" or procedure.parameters[:1] in (["MPI_File fh"], ["MPI_File* fh"]):
        lines.append(f'    const InRoutine routine("{procedure.name}");')
    lines += ["    " + own_call(procedure), "}"]
    alias = procedure.signature().replace(procedure.name, "P" + procedure.name, 1)
    lines.append(f'ORATORIO_ENTRY {alias} __attribute__((alias("{procedure.name}")));')
    return "\n".join(lines)


def entry_source(procedures):
    body = "\n\n".join(entry_point(p) for p in procedures if p.kind not in FORTRAN_KINDS)
    return (
        "// Generated by dev/generate/bindings.py from src/bind/mpi_file.def.\n"
        '#include "bind/entry.hpp"\n\nusing namespace oratorio;\nusing namespace oratorio::bind;\n\n'
        + body
        + "\n"
    )


def declarations(procedures):
    """Returns a header that declares every procedure, because no MPI's header has them all. The compiler
    compares the declarations with those in the MPI's header."""
    lines = [
        "// Generated by dev/generate/bindings.py from src/bind/mpi_file.def.",
        "#pragma once",
        '#include "bind/mpi_types.hpp"',
        "",
        'extern "C" {',
    ]
    lines += [p.signature() + ";" for p in procedures if p.kind not in FORTRAN_KINDS]
    return "\n".join([*lines, "}"]) + "\n"


def fortran_names(procedure):
    """Returns the spellings that a Fortran compiler, or the modules of Open MPI and MPICH, may use."""
    stem = procedure.name.rstrip("_")
    spellings = [stem, stem + "_", stem + "__", stem.upper()]
    names = spellings + ["p" + name for name in spellings[:3]] + ["P" + stem.upper()]
    mixed = "MPI_" + "_".join([stem.split("_")[1].capitalize(), *stem.split("_")[2:]]) + "_f"
    modules_of_mpich = [stem + "_f08_", "pmpir" + stem.removeprefix("mpi") + "_f08_"]
    return [
        *names,
        mixed,
        "P" + mixed,
        mixed + "08",
        "P" + mixed + "08",
        stem.replace("mpi_", "ompi_") + "_f",
        *(modules_of_mpich if procedure.kind == "fortran_all" else []),
    ]


def fortran_names_of(procedures, *kinds):
    return [name for p in procedures if p.kind in kinds for name in fortran_names(p)]


def c_names(procedures):
    names = [p.name for p in procedures if p.kind not in FORTRAN_KINDS]
    return names + ["P" + name for name in names]


def version_script(names):
    return "{\n  global:\n" + "".join(f"    {name};\n" for name in names) + "  local: *;\n};\n"


def stubs(procedures):
    lines = ["// Generated by dev/generate/bindings.py from src/bind/mpi_file.def."]
    lines += [f"ORATORIO_STUB({p.name})" for p in procedures if p.kind not in (*FORTRAN_KINDS, "beside")]
    lines += [f"ORATORIO_BESIDE_STUB({p.name})" for p in procedures if p.kind == "beside"]
    lines += [f"ORATORIO_FORTRAN_STUB({name})" for name in fortran_names_of(procedures, *FORTRAN_KINDS)]
    return "\n".join(lines) + "\n"


def fortran_aliases(procedures):
    lines = ["// Generated by dev/generate/bindings.py from src/bind/mpi_file.def."]
    for procedure in procedures:
        if procedure.kind not in FORTRAN_KINDS:
            continue
        names = [name for name in fortran_names(procedure) if name != procedure.name]
        aliases = [f"ORATORIO_FORTRAN_NAME({procedure.name}, {name})" for name in names]
        lines += aliases if procedure.kind == "fortran_all" else ["#ifdef OPEN_MPI", *aliases, "#endif"]
    return "\n".join(lines) + "\n"


def docs(procedures):
    chapter = [p for p in procedures if p.kind != "beside"]
    rows = [p for p in chapter if p.base is None]
    twins = {p.base.name for p in chapter if p.base is not None}
    lines = [
        "# Procedures of the MPI I/O chapter",
        "",
        "Generated by `dev/generate/bindings.py` from `src/bind/mpi_file.def`; do not edit.",
        "",
        f"Oratorio owns {sum(p.kind not in FORTRAN_KINDS for p in chapter)} C procedures, each as `MPI_...` and `PMPI_...`; all",
        "work. None falls through to the host MPI, unless the library is off (`ORATORIO_DISABLE=1`) or the file was opened by",
        "the host (`oratorio_method=host`).",
        "",
        "| procedure | large count `_c` | state |",
        "|---|---|---|",
    ]
    lines += [f"| `{p.name}` | {'yes' if p.name in twins else ''} | {KINDS[p.kind]} |" for p in rows]
    lines += [
        "",
        "Oratorio also intercepts the calls that begin and end MPI and that complete requests, so that outstanding operations progress"
        " and a failed one reaches its file's error handler; calls without a request of Oratorio go to the host directly:",
        "",
        ", ".join(f"`{p.name}`" for p in procedures if p.kind == "beside") + ".",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    procedures = read_table(options.table)
    of_all = fortran_names_of(procedures, "fortran_all")
    fortran = of_all + fortran_names_of(procedures, "fortran")
    if options.names:
        print(
            "\n".join(
                c_names(procedures)
                + ["fortran_all " + name for name in of_all]
                + ["fortran " + name for name in fortran]
            )
        )
    if options.docs:
        options.docs.write_text(docs(procedures))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        outputs = {
            "entry.cpp": entry_source(procedures),
            "procedures.hpp": declarations(procedures),
            "stubs.inc": stubs(procedures),
            "fortran_names.inc": fortran_aliases(procedures),
            "c.map": version_script([*c_names(procedures), CALIBRATE]),
            "mpich.map": version_script([*c_names(procedures), *of_all, CALIBRATE]),
            "c_and_fortran.map": version_script([*c_names(procedures), *fortran, CALIBRATE]),
            "preload.map": version_script([*c_names(procedures), *fortran, "oratorio_standard_error"]),
        }
        for name, text in outputs.items():
            file = options.out / name
            if not file.exists() or file.read_text() != text:  # spares a rebuild of all that includes it
                file.write_text(text)


if __name__ == "__main__":
    main()
