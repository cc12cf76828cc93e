#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lays out the Python package `oratorio` of an installation: the commands that need no checkout.

usage: package.py [--libraries PATH] FOLDER

Replaces FOLDER/oratorio. PATH is the path of the libraries, relative to FOLDER/oratorio. Used by
`cmake --install` and for the wheel.
"""

import argparse
import compileall
import py_compile
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def lay_out(folder: Path, libraries: str) -> Path:
    """Replaces folder/oratorio by a new package and returns the package's path. `libraries` is the path of
    the libraries, relative to the package."""
    package = folder / "oratorio"
    shutil.rmtree(package, ignore_errors=True)
    installed = package / "installed"
    installed.mkdir(parents=True)
    for source in sorted((ROOT / "cli/oratorio").rglob("*.py")):
        target = package / source.relative_to(ROOT / "cli/oratorio")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    shutil.copyfile(ROOT / "cli/oratorio/library/description.json", package / "library/description.json")
    (installed / "libraries").write_text(libraries + "\n")
    rules = installed / "conformance"
    rules.mkdir()
    for source in sorted((ROOT / "cli/conformance").glob("*.[ch]")):
        shutil.copyfile(source, rules / source.name)
    return package


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--libraries", default="lib", help="path of the libraries, relative to FOLDER/oratorio"
    )
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    package = lay_out(options.folder, options.libraries)
    # The modules are compiled now, because the installation may be read-only later. Python compares their
    # contents, not their times, because packagers may change the files' times.
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(package, ddir="oratorio", quiet=1, invalidation_mode=mode)


if __name__ == "__main__":
    main()
