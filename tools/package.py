#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lays out the Python package `oratorio` of an installation: the commands that need no checkout.

usage: package.py [--libraries PATH] FOLDER

Replaces FOLDER/oratorio. PATH leads from there to the libraries. `cmake --install` and the wheel use this.
"""

import argparse
import compileall
import py_compile
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = (
    "__init__.py", "__main__.py", "advice.py", "compare.py", "compare_cli.py", "compare_report.py",
    "conformance.py", "conformance_cli.py", "costs.py", "description.py", "doctor.py",
    "doctor_cli.py", "doctor_machine.py", "elf.py", "hint_names.py",
    "explained.py", "hosts.py", "html_page.py", "launch.py", "method_table.py", "mounts.py", "paths.py",
    "preload.py", "programs.py", "recorded.py", "report_cli.py", "run_facts.py", "run_report.py", "start.py",
    "trace.py", "trace_table.py",
)  # fmt: skip


def lay_out(folder: Path, libraries: str) -> Path:
    """Replaces folder/oratorio by a new package and returns it."""
    package = folder / "oratorio"
    shutil.rmtree(package, ignore_errors=True)
    installed = package / "installed"
    installed.mkdir(parents=True)
    for name in MODULES:
        shutil.copyfile(ROOT / "tools/oratorio" / name, package / name)
    shutil.copyfile(ROOT / "tools/oratorio/description.json", package / "description.json")
    (installed / "libraries").write_text(libraries + "\n")
    rules = installed / "conformance"
    rules.mkdir()
    for source in sorted((ROOT / "tools/conformance").glob("*.[ch]")):
        shutil.copyfile(source, rules / source.name)
    return package


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", default="lib", help="where they are, seen from FOLDER/oratorio")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    package = lay_out(options.folder, options.libraries)
    # Compiled now because the installation may be read-only later. Checked by content, not by time, because
    # packagers may change the files' times.
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(package, ddir="oratorio", quiet=1, invalidation_mode=mode)


if __name__ == "__main__":
    main()
