# SPDX-License-Identifier: BSD-3-Clause
"""Tests the libraries' symbols: each library exports the names of the table src/bind/mpi_file.def and one
function that other parts of Oratorio call, and needs no MPI library. Also tests that the table has every
procedure that takes requests, and that the users' page of procedures matches the table.

usage: bind_exports_test.py FOLDER-OF-LIBRARIES FOLDER-OF-MPI-HEADERS...
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "bind" / "mpi_file.def"
GENERATOR = ROOT / "dev/generate/bindings.py"
HEADERS = [pathlib.Path(folder) for folder in sys.argv[2:]]
LIBRARIES = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "lib"
del sys.argv[1:]

# Names by which mpi4py detects which MPI is loaded. mpi4py must not find them in our libraries.
PROBED = {"MPI_Get_version", "MPI_Abi_get_version", "ompi_mpi_comm_self", "MPI_CONVERSION_FN_NULL"}

# Procedures that take requests and that Oratorio need not implement, with the reason.
NOT_OURS = {
    "MPI_Buffer_iflush": "starts an operation",
    "MPI_Cancel": "the host calls Requests::cancel, which changes nothing",
    "MPI_Grequest_complete": "for requests that the program makes",
    "MPI_Parrived": "for partitioned messages",
    "MPI_Pready": "for partitioned messages",
    "MPI_Pready_list": "for partitioned messages",
    "MPI_Pready_range": "for partitioned messages",
    "MPI_Request_c2f": "converts a handle",
    "MPI_Request_free": "the access goes on without it and is done when the file is closed",
    "MPI_Request_toint": "converts a handle",
    "MPI_Start": "for persistent requests",
    "MPI_Startall": "for persistent requests",
    "MPIX_Wait_enqueue": "for messages that a device's stream sends",
    "MPIX_Waitall_enqueue": "for messages that a device's stream sends",
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def table_names():
    """Returns the C names, the Fortran names of all hosts, and all Fortran names."""
    lines = output_of(sys.executable, str(GENERATOR), str(TABLE), "--names").splitlines()
    rows = [line.split() for line in lines]
    return [{row[-1] for row in rows if row[:-1] == kind} for kind in ([], ["fortran_all"], ["fortran"])]


def symbols(library, which):
    return {line.split()[-1] for line in output_of("nm", "-D", which, str(library)).splitlines()}


class Exports(unittest.TestCase):
    def setUp(self):
        self.c_names, mpich, fortran = table_names()
        self.fortran = {
            "liboratorio.so": fortran,
            "liboratorio-ompi.so": fortran,
            "liboratorio-mpich.so": mpich,
        }
        self.libraries = sorted(LIBRARIES.glob("liboratorio*.so"))
        self.assertIn(LIBRARIES / "liboratorio.so", self.libraries)
        self.assertGreater(len(self.libraries), 1, "no flavour was built")

    def test_each_library_exports_the_table_and_nothing_else(self):
        for library in self.libraries:
            with self.subTest(library.name):
                wanted = self.c_names | self.fortran.get(library.name, set())
                # The other libraries get the program's original standard error from liboratorio.so;
                # `oratorio calibrate` calls oratorio_calibrate.
                is_preload = library.name == "liboratorio.so"
                wanted = wanted | {"oratorio_standard_error" if is_preload else "oratorio_calibrate"}
                self.assertEqual(symbols(library, "--defined-only"), wanted)

    def test_every_procedure_is_there_with_and_without_p(self):
        plain = {name for name in self.c_names if name.startswith("MPI")}
        self.assertEqual(self.c_names, plain | {"P" + name for name in plain})
        self.assertEqual(len(plain), 113)  # 95 procedures of the chapter on I/O, and 18 of other chapters

    def test_probed_names_are_not_exported(self):
        for library in self.libraries:
            self.assertFalse(symbols(library, "--defined-only") & PROBED, library.name)

    def test_no_mpi_library_and_no_mpi_symbol_is_needed(self):
        for library in self.libraries:
            with self.subTest(library.name):
                needed = output_of("readelf", "-d", str(library))
                self.assertNotIn("libmpi", needed)
                self.assertNotIn("libstdc++", needed)
                undefined = symbols(library, "--undefined-only")
                self.assertFalse({n for n in undefined if "mpi_" in n.lower()})


def request_parameters(header):
    """Returns {procedure: [its parameters]} for procedures with a request among their parameters."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    found = re.findall(r"\bint\s+(MPIX?_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)", text)
    split = {name: [part.strip() for part in parameters.split(",")] for name, parameters in found}
    return {name: parts for name, parts in split.items() if any("MPI_Request" in part for part in parts)}


def only_starts(parameters):
    """Returns true if a procedure only returns a new request, of an operation that the other parameters
    describe."""
    return len(parameters) > 1 and bool(re.match(r"MPI_Request\s*\*\s*\w+$", parameters[-1]))


class Headers(unittest.TestCase):
    def test_every_procedure_that_takes_requests_is_ours_or_has_a_reason(self):
        ours = table_names()[0]
        for folder in HEADERS:
            for header in [folder / name for name in ("mpi.h", "mpi_proto.h", "mpi_abi.h")]:
                if not header.exists():
                    continue
                with self.subTest(str(header)):
                    takes = request_parameters(header)
                    missing = {name for name in takes if not only_starts(takes[name])} - ours - set(NOT_OURS)
                    self.assertEqual(
                        missing, set(), "add them to src/bind/mpi_file.def, or to NOT_OURS with the reason"
                    )

    def test_the_headers_are_understood(self):
        for folder in HEADERS:
            with self.subTest(str(folder)):
                takes = {}
                for header in folder.glob("mpi*.h"):
                    takes |= request_parameters(header)
                self.assertIn("MPI_Waitsome", takes)
                self.assertFalse(only_starts(takes["MPI_Wait"]))
                self.assertTrue(only_starts(takes["MPI_Isend"]))


class Docs(unittest.TestCase):
    def test_the_table_of_procedures_is_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            fresh = pathlib.Path(folder) / "routines.md"
            output_of(sys.executable, str(GENERATOR), str(TABLE), "--docs", str(fresh))
            self.assertEqual(
                fresh.read_text(),
                (ROOT / "docs" / "user" / "routines.md").read_text(),
                "run dev/generate/bindings.py src/bind/mpi_file.def --docs docs/user/routines.md",
            )


if __name__ == "__main__":
    unittest.main()
