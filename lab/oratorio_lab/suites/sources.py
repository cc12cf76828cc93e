# SPDX-License-Identifier: BSD-3-Clause
"""Fetches the sources of suites by apt and pip, from the mirrors that this machine uses.

apt runs with a private list of sources and private folders, so the machine's setup does not change. An
archive is refused if its SHA-256 differs from the one in the suite's Archive.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Collection
from pathlib import Path

from oratorio.errors import OratorioError
from oratorio.paths import PRIVATE
from oratorio_lab.suites.model import WORK, Archive

DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
FETCH_SECONDS = 300


class SourceError(OratorioError):
    """Raised if the source of a suite is not available; the message says why."""


def call(*words: str, cwd: Path | None = None) -> str:
    """Returns the output of a command. Raises SourceError."""
    try:
        done = subprocess.run(
            words, cwd=cwd, capture_output=True, text=True, timeout=FETCH_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as late:
        raise SourceError(f"{words[0]} took more than {FETCH_SECONDS} s: {' '.join(words)}") from late
    if done.returncode != 0:
        raise SourceError(f"{' '.join(words)} failed: {done.stderr.strip()[-600:]}")
    return done.stdout


def debian_targets() -> list[tuple[str, str, str]]:
    """Returns (address, release, component) of each source of Debian packages that apt is set up with. Raises
    SourceError."""
    wanted = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    told = call("apt-get", "indextargets", "--format", wanted, "Created-By: Packages")
    targets = [line.split("|") for line in told.splitlines()]
    found = [(uri, release, component) for origin, uri, release, component in targets if origin == "Debian"]
    if not found:
        raise SourceError("apt knows no packages of Debian here: run `apt-get update` first")
    return found


def apt_line(kind: str, uri: str, release: str, component: str) -> str:
    """Returns a line of a sources.list; `kind` is deb or deb-src."""
    option = f"[signed-by={DEBIAN_KEYRING}] " if DEBIAN_KEYRING.exists() else ""
    return f"{kind} {option}{uri} {release} {component}\n"


def private_apt(folder: Path, lines: Collection[str]) -> list[str]:
    """Makes `folder` with a sources.list of these `lines`. Returns the options that keep apt within it."""
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("".join(sorted(lines)))
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder,
        "APT::Sandbox::User": "root",
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch_from_debian(archive: Archive, folder: Path) -> None:
    if shutil.which("apt-get") is None:
        raise SourceError(f"this machine has no apt-get; put {archive.file} of Debian into {folder}")
    lines = {apt_line("deb-src", *target) for target in debian_targets()}
    options = private_apt(WORK / "apt", lines)
    call("apt-get", *options, "update")
    wanted = f"{archive.package}={archive.version}"
    call("apt-get", *options, "source", "--download-only", "--tar-only", wanted, cwd=folder)


def _fetch_from_pypi(archive: Archive, folder: Path) -> None:
    """Fetches the archive from .oratorio/wheels, where setup.sh keeps it, or otherwise by pip."""
    kept = PRIVATE / "wheels" / archive.file
    if kept.exists():
        shutil.copy(kept, folder)
        return
    wanted = f"{archive.package}=={archive.version}"
    only_source = ("--no-deps", f"--no-binary={archive.package}")
    call(sys.executable, "-m", "pip", "download", *only_source, "-d", str(folder), wanted)


FETCH = {"debian": _fetch_from_debian, "pypi": _fetch_from_pypi}


def _download(archive: Archive) -> Path:
    """Returns the file of the archive in WORK/archives; downloads it if it is missing. Raises SourceError."""
    folder = WORK / "archives"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / archive.file
    if not file.exists():
        FETCH[archive.registry](archive, folder)
    if not file.exists():
        raise SourceError(f"{archive.package} {archive.version} lacks {archive.file}")
    found = _sha256(file)
    if found != archive.sha256:
        raise SourceError(f"{file} has the SHA-256 {found} instead of {archive.sha256}")
    return file


def _unpack(file: Path, parts: tuple[str, ...], target: Path) -> None:
    """Unpacks the wanted parts without the archive's outermost folder."""
    with tarfile.open(file) as tar:
        for member in tar:
            _, _, inner = member.name.partition("/")
            if member.isreg() and inner.startswith(parts):
                (target / inner).parent.mkdir(parents=True, exist_ok=True)
                with tar.extractfile(member) as stream, (target / inner).open("wb") as copy:
                    shutil.copyfileobj(stream, copy)


def source_of(archive: Archive, suite: str, prepare: Callable[[Path], None]) -> Path:
    """Returns the folder with the suite's part of the archive, unpacked and prepared once.

    Raises SourceError if the archive is not available.
    """
    target = WORK / "source" / archive.name / suite
    if target.exists():
        return target
    file = _download(archive)
    fresh = target.with_name(f"{suite}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    _unpack(file, archive.parts, fresh)
    prepare(fresh)
    fresh.rename(target)
    return target
