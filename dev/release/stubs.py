#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes empty libraries to link against, with the names and versions of an older glibc.

usage: stubs.py TABLE --cc COMPILER --out FOLDER

A line of the table is `library version symbol...`. Code that uses a name outside the table fails to link,
with "undefined reference"; the remedy is a definition in compat.c.
"""

import argparse
import subprocess
from pathlib import Path


def read_table(text: str) -> dict[str, dict[str, list[str]]]:
    """Returns library -> version -> symbols."""
    table: dict[str, dict[str, list[str]]] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            library, version, *symbols = words
            table.setdefault(library, {})[version] = symbols
    return table


def version_script(versions: dict[str, list[str]]) -> str:
    """Returns a version script for the linker. No version inherits from another, because inheritance would
    only inform human readers."""
    return "".join(
        f"{version} {{ global: {' '.join(f'{symbol};' for symbol in symbols)} }};\n"
        for version, symbols in versions.items()
    )


def make(library: str, versions: dict[str, list[str]], compiler: str, folder: Path) -> None:
    """Makes one empty library."""
    symbols = [symbol for some in versions.values() for symbol in some]
    source = folder / f"{library}.s"
    lines = [f".globl {symbol}\n.type {symbol},@function\n{symbol}:\n" for symbol in symbols]
    source.write_text(".text\n" + "".join(lines) + "ret\n.section .note.GNU-stack\n")
    script = folder / f"{library}.map"
    script.write_text(version_script(versions))
    command = [compiler, "-shared", "-nostdlib", f"-Wl,-soname,{library},--version-script={script}"]
    subprocess.run([*command, "-o", folder / library, source], check=True)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for library, versions in read_table(options.table.read_text()).items():
        make(library, versions, options.cc, options.out)


if __name__ == "__main__":
    main()
