# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx's configuration for the site of the pages; `oratorio docs` calls it with the root of the checkout
as source.

The pages are plain Markdown that reads well without the site. This file holds what the site needs in
addition: the list of files that are pages, the navigation, which is made from the lists of docs/README.md
and docs/user/README.md, answers for the search, and labels for tables on narrow screens.
"""

import re
import sys
from pathlib import Path
from posixpath import dirname, join, normpath

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

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
# Pages with lists of links to other pages. The site gets a hidden copy of each list, for its navigation.
INDEXES = ("docs/research/README", "docs/research/results/README", "docs/internals/README", "src/README")
# The sections of this page become sections of the navigation, so that users see their pages by subject.
GROUPED = "docs/user/README"
# Pages to which the site adds a list of all other pages of their folder.
FOLDERS = ("docs/internals/decisions/README",)
# Pages with tables of names. A search for a name shows its row first.
TABLES_OF_NAMES = ("docs/user/hints", "docs/user/environment", "docs/user/methods")
# What users search for -> the page and the section that answer it. A search shows this section first.
ANSWERS = {
    "HDF5 slow": ("docs/user/guides/hdf5", "tuning"),
    "full disk": ("docs/user/failing-disks", "a-full-disk"),
    "disk full": ("docs/user/failing-disks", "a-full-disk"),
}
SENTENCE = 60  # a table with a cell of this many characters becomes a list on narrow screens


def toctree(pages: list[str], *options: str) -> str:
    """Returns Sphinx's directive for a list of pages."""
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def sections(index: str, text: str) -> dict[str, list[str]]:
    """Returns section -> pages that the section of an index links to. A section begins with a bold line."""
    found: dict[str, dict[str, None]] = {}
    for line in text.splitlines():
        title = SECTION.match(line)
        if title:
            found[title[1]] = {}
        elif found:
            pages = (normpath(join(dirname(index), page)) for page in PAGE.findall(line))
            found[list(found)[-1]].update(dict.fromkeys(f"/{page}" for page in pages))
    return {title: list(pages) for title, pages in found.items()}


def navigation(source: Path) -> str:
    """Returns hidden lists of pages: one for each section of docs/README.md, and, after the section that
    links to GROUPED, one for each section of that page."""
    lists = {}
    for title, pages in sections("docs/README", (source / "docs/README.md").read_text()).items():
        lists[title] = pages
        if f"/{GROUPED}" in pages:
            lists |= sections(GROUPED, (source / f"{GROUPED}.md").read_text())
    return "".join(toctree(pages, ":hidden:", f":caption: {title}") for title, pages in lists.items())


def listed(index: str, text: str) -> list[str]:
    """Returns the pages that an index links to."""
    pages = (normpath(join(dirname(index), page)) for page in PAGE.findall(text))
    return [f"/{page}" for page in dict.fromkeys(pages) if page.startswith(("docs/", "src/", "tests/"))]


def add_lists(app, page: str, text: list[str]) -> None:
    """Adds lists of pages for Sphinx to the text of a page: the navigation to the start page, the linked
    pages to a page of INDEXES, and the folder's pages to a page of FOLDERS."""
    if page == root_doc:
        text[0] += toctree(["/docs/README"], ":hidden:") + navigation(Path(app.srcdir))
    elif page in INDEXES:
        text[0] += toctree(listed(page, text[0]), ":hidden:")
    elif page in FOLDERS:
        text[0] += toctree(["**"], ":glob:", ":maxdepth: 1")


class SearchAnswers(SphinxTransform):
    """Adds entries to the search: the names in TABLES_OF_NAMES and the questions in ANSWERS."""

    default_priority = 500

    def apply(self) -> None:
        page = self.env.docname
        answers = {asked: anchor for asked, (where, anchor) in ANSWERS.items() if where == page}
        missing = set(answers.values()) - set(self.document.ids)
        if missing:
            raise ValueError(f"{page} has no section {missing}, which dev/site/conf.py names")
        if page in TABLES_OF_NAMES:
            answers |= self._rows()
        entries = [("single", asked, anchor, "main", None) for asked, anchor in answers.items()]
        if entries:
            next(self.document.findall(nodes.section)).append(addnodes.index(entries=entries))

    def _rows(self) -> dict[str, str]:
        """Adds an anchor to each table row that begins with a name; returns name -> anchor."""
        found = {}
        for body in self.document.findall(nodes.tbody):
            for row in body:
                name = next(row[0].findall(nodes.literal), None)
                if name and name.astext() not in found and name.astext() not in self.document.ids:
                    row["ids"].append(name.astext())
                    found[name.astext()] = name.astext()
        return found


class ColumnLabels(SphinxTransform):
    """Marks tables of sentences, and repeats the head of its column in each cell but the first of a row.
    site.css shows these labels only on narrow screens, where a row becomes a list."""

    default_priority = 510

    def apply(self) -> None:
        for table in self.document.findall(nodes.table):
            body = next(table.findall(nodes.tbody), ())  # a table without rows has no body
            if all(len(cell.astext()) < SENTENCE for row in body for cell in row):
                continue
            table["classes"].append("sentences")
            heads = [cell.astext() for cell in next(table.findall(nodes.thead))[0]]
            for row in body:
                for head, cell in list(zip(heads, row, strict=False))[1:]:
                    if head and cell.astext():
                        label = nodes.inline("", f"{head}: ", classes=["column"])
                        cell[0].insert(0, label)


def setup(app) -> None:
    """Registers add_lists and the transforms of this file. Sphinx calls this function."""
    app.connect("source-read", add_lists)
    app.add_transform(SearchAnswers)
    app.add_transform(ColumnLabels)
