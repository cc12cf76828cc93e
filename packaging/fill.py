#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fills the recipes of this folder in: version, day, and the archive of the sources with its checksum.

usage: fill.py [--archive FILE] [--url URL] OUT

OUT gets each recipe as its tool expects it, the archive, and the sources with debian/ for dpkg-buildpackage.
Without --archive the archive is made from this checkout; without --url the recipes name the archive in OUT.
"""

from __future__ import annotations

import argparse
import datetime
import email.utils
import hashlib
import re
import shutil
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [*(str(ROOT / name) for name in ("cli", "lab", "dev")), str(ROOT / "dev/release")]

import backend

from oratorio import __version__

RECIPES = ("conda", "container", "debian", "easybuild", "lmod", "rpm", "spack")


def released() -> datetime.datetime:
    """Returns the release day of the version, from CITATION.cff."""
    told = (ROOT / "CITATION.cff").read_text()
    day = re.search(r"^date-released: (\S+)$", told, re.MULTILINE)[1]
    return datetime.datetime.fromisoformat(day).replace(hour=12, tzinfo=datetime.UTC)


def fill(archive: Path, url: str, out: Path) -> None:
    """Writes the recipes and replaces names between @, also in names of files."""
    values = {
        "@VERSION@": __version__,
        "@RPM_DATE@": released().strftime("%a %b %d %Y"),
        "@DATE@": email.utils.format_datetime(released()),
        "@SHA256@": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "@URL@": url,
    }

    def filled(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    for recipe in RECIPES:
        for source in sorted((ROOT / "packaging" / recipe).rglob("*")):
            if source.is_file() and "__pycache__" not in source.parts:
                target = out / filled(str(source.relative_to(ROOT / "packaging")))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(filled(source.read_text()))
                shutil.copymode(source, target)


def lay_out_debian(archive: Path, out: Path) -> None:
    """Lays out the sources with debian/, next to the archive under Debian's name for it."""
    shutil.copyfile(archive, out / f"oratorio_{__version__}.orig.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(out)
    shutil.move(out / "debian", out / f"oratorio-{__version__}/debian")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--url")
    parser.add_argument("out", type=Path, help="a folder that is not there yet")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True)
    archive = out / f"oratorio-{__version__}.tar.gz"
    if options.archive:
        shutil.copyfile(options.archive, archive)
    else:
        backend.build_sdist(out)
    fill(archive, options.url or archive.as_uri(), out)
    lay_out_debian(archive, out)


if __name__ == "__main__":
    main()
