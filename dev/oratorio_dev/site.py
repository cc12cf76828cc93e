# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio docs`: makes a site of the pages with Sphinx (dev/site/conf.py), and checks all its links."""

import argparse
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from oratorio.command_line import Parser
from oratorio.errors import OratorioError
from oratorio.paths import OUT, PRIVATE, ROOT

PYTHON = PRIVATE / "docs/bin/python"
CONFIGURATION = ROOT / "dev/site"
START = "README.html"
MARK = ".buildinfo"  # a file that Sphinx leaves in each site


class SiteError(OratorioError):
    """Raised if the site cannot be built, or cannot be put into the folder."""


class _Page(HTMLParser):
    """The anchors and links of an HTML page, and what a browser loads with the page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(filter(None, (values.get("id"), values.get("name"))))
        for key in ("href", "src"):
            if values.get(key):
                (self.links if tag == "a" else self.loads).append(values[key])


def complaints(site: Path) -> list[str]:
    """Returns a complaint for each link or anchor that leads nowhere, and for each thing that a page loads
    from another host, because a site must work offline."""
    pages = {file: _Page(file) for file in sorted(site.rglob("*.html"))}
    found = []
    for file, page in pages.items():
        name = file.relative_to(site)
        found += [f"{name} loads {load}" for load in page.loads if urlsplit(load).netloc]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file() or not target.is_relative_to(site.resolve()):
                found.append(f"{name} links to {link}, which does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name} links to {link}, but the page has no such anchor")
    return found


def _make(source: Path, site: Path, kept: Path) -> list[str]:
    """Makes the site; returns the complaints of Sphinx and of complaints()."""
    strict = ["-q", "--fail-on-warning", "--nitpicky", "--builder", "html"]
    done = subprocess.run(
        [PYTHON, "-m", "sphinx", *strict, "-c", CONFIGURATION, "-d", kept, source, site],
        cwd=source, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = done.stderr.strip().splitlines()
    if done.returncode or told:
        return told or [f"Sphinx ended with {done.returncode}"]
    # The start page is both README.html, to which links lead, and index.html, for which servers look.
    shutil.copy(site / START, site / "index.html")
    return complaints(site)


def build(out: Path, source: Path = ROOT) -> None:
    """Makes the site in `out`, which must be a new or empty folder, or an old site, which is replaced."""
    if not PYTHON.exists():
        raise SiteError("Sphinx is not installed: run dev/setup.sh docs")
    if out.exists() and not (out.is_dir() and ((out / MARK).exists() or not any(out.iterdir()))):
        raise SiteError(f"{out} exists and is not a site")
    with tempfile.TemporaryDirectory() as work:
        site = Path(work).resolve() / "site"
        found = _make(source, site, Path(work) / "doctrees")
        if found:
            raise SiteError("the site was not built:\n" + "\n".join(found))
        if out.exists():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(site, out)


def add_options(parser: Parser) -> None:
    """Adds the options of `docs`."""
    parser.add_argument(
        "-o", "--output", type=Path, default=OUT / "site", metavar="FOLDER",
        help="Write the site to this folder; out/site if not given.",
    )  # fmt: skip
    parser.set_defaults(does=_docs)


def _docs(options: argparse.Namespace) -> int:
    build(options.output)
    print(options.output / "index.html")
    return 0
