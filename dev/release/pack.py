#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packs built libraries, the commands that need no checkout and the manual into a wheel.

usage: pack.py --libraries FOLDER --out FOLDER [--tag TAG] [--strip COMMAND]

The same content gives the same file, byte for byte.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("cli", "lab", "dev")]

import package

from oratorio import __version__

NAME = f"oratorio-{__version__}"
INFO = f"{NAME}.dist-info"
MACHINES = ("x86_64", "aarch64")  # processors for which dev/release has the names of glibc 2.28
LIBRARIES = ("liboratorio.so", "liboratorio-mpich.so", "liboratorio-ompi.so", "liboratorio-abi.so")
LICENSES = ("LICENSE", "licenses/README.md", "licenses/liburing.txt")
METADATA = """\
Metadata-Version: 2.4
Name: oratorio
Version: {version}
Summary: Drop-in MPI-IO: the MPI I/O chapter over any MPI
License-Expression: BSD-3-Clause AND MIT
{licenses}Keywords: MPI,MPI-IO,parallel I/O,HPC
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering
Requires-Python: >=3.9
Provides-Extra: darshan
Requires-Dist: darshan>=3.4; extra == "darshan"
Description-Content-Type: text/markdown

"""


def portable_tag(machine: str) -> str:
    """Returns the tag of a wheel with libraries of the target `portable`."""
    return f"py3-none-manylinux_2_28_{machine}"


def front_page(address: str) -> str:
    """Returns the page that a package index shows, packaging/wheel.md. An index has no other page of the
    checkout, so links lead to `address`, where the checkout's files are published; if it is empty, only
    the text of links remains."""
    text = (ROOT / "packaging/wheel.md").read_text()
    link = rf"[\1]({address.rstrip('/')}/\2)" if address else r"\1"
    return re.sub(r"\[([^]]+)\]\(\.\./([^)]+)\)", link, text)


def metadata() -> str:
    """Returns the METADATA of the wheel and the sdist, with the front page for a package index. The
    environment variable ORATORIO_PAGES is the address of the checkout's files."""
    licenses = "".join(f"License-File: {name}\n" for name in LICENSES)
    head = METADATA.format(version=__version__, licenses=licenses)
    return head + front_page(os.environ.get("ORATORIO_PAGES", ""))


def about(tag: str) -> dict[str, bytes]:
    """Returns path in the dist-info folder -> bytes, without the RECORD."""
    files = {f"licenses/{name}": (ROOT / name).read_bytes() for name in LICENSES}
    files["METADATA"] = metadata().encode()
    files["WHEEL"] = f"Wheel-Version: 1.0\nGenerator: oratorio\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files["entry_points.txt"] = b"[console_scripts]\noratorio = oratorio.command_line:main\n"
    return files


def contents(libraries: Path, tag: str, strip: str, scratch: Path) -> dict[str, bytes]:
    """Returns path in the wheel -> bytes, without the RECORD."""
    files = {}
    made = package.lay_out(scratch, "lib")
    for file in sorted(made.rglob("*")):
        if file.is_file():
            files[f"oratorio/{file.relative_to(made)}"] = file.read_bytes()
    for name in LIBRARIES:
        stripped = scratch / name
        subprocess.run([strip, "--strip-unneeded", "-o", stripped, libraries / name], check=True)
        files[f"oratorio/lib/{name}"] = stripped.read_bytes()
    files[f"{NAME}.data/data/share/man/man1/oratorio.1"] = (ROOT / "docs/user/man/oratorio.1").read_bytes()
    files |= {f"{INFO}/{name}": data for name, data in about(tag).items()}
    return files


def record(files: dict[str, bytes]) -> bytes:
    """Returns the RECORD: the list of files with their hashes."""
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return ("".join(lines) + f"{INFO}/RECORD,,\n").encode()


def write_wheel(libraries: Path, out: Path, tag: str, strip: str = "strip") -> Path:
    """Packs the libraries of a folder into a wheel and returns the wheel's path. `strip` is a strip(1) for
    the libraries' processor."""
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{NAME}-{tag}.whl"
    with tempfile.TemporaryDirectory() as scratch:
        files = contents(libraries, tag, strip, Path(scratch))
    files[f"{INFO}/RECORD"] = record(files)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(entry, data)
    return target


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", type=Path, required=True, help="Folder of the libraries.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tag", default=portable_tag(platform.machine()))
    parser.add_argument("--strip", default="strip")
    options = parser.parse_args()
    print(write_wheel(options.libraries, options.out, options.tag, options.strip))


if __name__ == "__main__":
    main()
