# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx's configuration for the site of the pages; `oratorio docs` calls it with the root of the checkout
as source.

The pages are plain Markdown that reads well without the site. This file holds what the site needs in
addition: the list of files that are pages, and the navigation, which is made from the lists of
docs/README.md.
"""

import re
import sys
from pathlib import Path
from posixpath import dirname, join, normpath

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / name) for name in ("cli", "lab", "dev")]

from oratorio import __version__

project = "Oratorio"
author = "The Oratorio authors"
version = release = __version__

extensions = ["myst_parser"]
myst_heading_anchors = 6
root_doc = "README"
include_patterns = [
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md",
    "licenses/README.md", "packaging/README.md", "src/**README.md", "tests/README.md", "docs/**.md",
]  # fmt: skip
# Without this, Sphinx would also walk through folders that have no pages.
exclude_patterns = [".*", "build*", "out", "dist", "tests/[a-z]*", "cli", "lab", "dev"]
highlight_language = "none"

html_theme = "furo"
html_title = f"Oratorio {release}"
html_copy_source = False
html_show_sphinx = False
html_show_sourcelink = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]

SECTION = re.compile(r"^\*\*(.+)\*\*$")
PAGE = re.compile(r"\]\(([\w./-]+)\.md\)")
# Pages that list pages by links. The site gets a hidden copy of each list, for its navigation.
INDEXES = (
    "docs/user/README", "docs/research/README", "docs/research/results/README", "docs/internals/README",
    "src/README",
)  # fmt: skip
# Pages to which the site adds a list of all other pages of their folder.
FOLDERS = ("docs/internals/decisions/README",)


def toctree(pages: list[str], *options: str) -> str:
    """Returns Sphinx's directive for a list of pages."""
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def navigation(overview: str) -> str:
    """Returns hidden lists of pages, one for each section of docs/README.md."""
    sections: dict[str, dict[str, None]] = {}
    for line in overview.splitlines():
        title = SECTION.match(line)
        if title:
            sections[title[1]] = {}
        elif sections:
            sections[list(sections)[-1]].update(dict.fromkeys(PAGE.findall(line)))
    return "".join(
        toctree(["/" + normpath(f"docs/{page}") for page in pages], ":hidden:", f":caption: {title}")
        for title, pages in sections.items()
    )


def listed(index: str, text: str) -> list[str]:
    """Returns the pages that an index links to."""
    pages = (normpath(join(dirname(index), page)) for page in PAGE.findall(text))
    return [f"/{page}" for page in dict.fromkeys(pages) if page.startswith(("docs/", "src/", "tests/"))]


def add_lists(app, page: str, text: list[str]) -> None:
    """Adds lists of pages for Sphinx: the navigation to the start page, the linked pages to INDEXES, and the
    folder's pages to FOLDERS."""
    if page == root_doc:
        overview = Path(app.srcdir) / "docs/README.md"
        text[0] += toctree(["/docs/README"], ":hidden:") + navigation(overview.read_text())
    elif page in INDEXES:
        text[0] += toctree(listed(page, text[0]), ":hidden:")
    elif page in FOLDERS:
        text[0] += toctree(["**"], ":glob:", ":maxdepth: 1")


def setup(app) -> None:
    """Registers add_lists(). Sphinx calls this function when it reads the configuration."""
    app.connect("source-read", add_lists)
