# SPDX-License-Identifier: BSD-3-Clause
"""What the libraries show to the linker: the names of the table, nothing else, and no need of any MPI.

usage: bind_exports_test.py FOLDER-OF-LIBRARIES
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "bind" / "mpi_file.def"
GENERATOR = ROOT / "tools" / "gen_bindings.py"
LIBRARIES = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else ROOT / "build" / "lib"

# What mpi4py looks for in the global scope to tell which MPI is loaded: it must not find it here.
PROBED = {"MPI_Get_version", "MPI_Abi_get_version", "ompi_mpi_comm_self", "MPI_CONVERSION_FN_NULL"}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def table_names():
    """The C names, the Fortran names of all hosts, and all Fortran names."""
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
                if library.name == "liboratorio.so":  # tells the others what standard error was at the start
                    wanted = wanted | {"oratorio_standard_error"}
                self.assertEqual(symbols(library, "--defined-only"), wanted)

    def test_every_procedure_is_there_with_and_without_p(self):
        plain = {name for name in self.c_names if name.startswith("MPI")}
        self.assertEqual(self.c_names, plain | {"P" + name for name in plain})
        self.assertEqual(len(plain), 108)  # the chapter, and 13 beside it

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


class Docs(unittest.TestCase):
    def test_the_table_of_procedures_is_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            fresh = pathlib.Path(folder) / "routines.md"
            output_of(sys.executable, str(GENERATOR), str(TABLE), "--docs", str(fresh))
            self.assertEqual(
                fresh.read_text(),
                (ROOT / "docs" / "routines.md").read_text(),
                "run tools/gen_bindings.py src/bind/mpi_file.def --docs docs/routines.md",
            )


if __name__ == "__main__":
    unittest.main()
