# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio docs`: the pages make a site, and problems that would break it are reported."""

import json
import re

import pytest

from oratorio_dev import site

pytestmark = pytest.mark.skipif(not site.PYTHON.exists(), reason="dev/setup.sh docs hasn't been run")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Returns the site of this checkout's own pages."""
    folder = tmp_path_factory.mktemp("site") / "site"
    site.build(folder)
    return folder


def small(folder, overview: str, **pages: str):
    """Makes a checkout that has only these pages."""
    docs = folder / "checkout/docs"
    docs.mkdir(parents=True)
    (folder / "checkout/README.md").write_text("# Start\n\n[All](docs/README.md)\n")
    (docs / "README.md").write_text(f"# Pages\n\n{overview}\n")
    for name, text in pages.items():
        (docs / f"{name}.md").write_text(text)
    return folder / "checkout"


def refusal(folder, overview: str, **pages: str) -> str:
    """Returns the error for a checkout with pages that make no site; requires that no site is left behind."""
    checkout = small(folder, overview, **pages)
    with pytest.raises(site.SiteError) as error:
        site.build(folder / "site", checkout)
    assert not (folder / "site").exists()
    return str(error.value)


def test_every_page_is_in_the_site_and_starts_with_the_readme(built):
    pages = {file.relative_to(site.ROOT) for file in (site.ROOT / "docs").rglob("*.md")}
    assert len(pages) >= 60
    assert not {page for page in pages if not (built / page.with_suffix(".html")).exists()}
    assert (built / "index.html").read_bytes() == (built / "README.html").read_bytes()


def test_navigation_has_the_sections_of_the_overview(built):
    text = (built / "docs/user/hints.html").read_text()
    users = re.findall(r"^\*\*(.+)\*\*$", (site.ROOT / "docs/user/README.md").read_text(), re.MULTILINE)
    assert len(users) >= 5
    captions = ["To use Oratorio", *users, "To see what it is worth", "To change it", "About the project"]
    places = [text.index(f'<span class="caption-text">{caption}</span>') for caption in captions]
    assert places == sorted(places)


def test_a_list_right_below_a_line_is_a_list(built):
    assert (
        '<li><p><a class="reference internal" href="symptoms.html">'
        in (built / "docs/user/README.html").read_text()
    )


def test_a_table_is_a_table(built):
    assert (built / "docs/user/environment.html").read_text().count("<tr") > 10


@pytest.mark.parametrize(
    ("question", "page", "answer"),
    [
        ("HDF5 slow", "docs/user/guides/hdf5", "Tuning Use H5Pset_dxpl_mpio"),
        (
            "full disk",
            "docs/user/failing-disks",
            "A full disk A write to a full disk returns MPI_ERR_NO_SPACE",
        ),
        ("cb_nodes", "docs/user/hints", "cb_nodes values: 0 to"),
        ("ORATORIO_DISABLE", "docs/user/environment", "ORATORIO_DISABLE values: 1"),
        ("two_phase", "docs/user/methods", "two_phase what it does: two-phase I/O"),
    ],
)
def test_a_search_begins_with_the_answer(question, page, answer, built):
    index = json.loads(re.fullmatch(r"Search.setIndex\((.*)\)", (built / "searchindex.js").read_text())[1])
    # The search sorts an entry that equals the question before all pages that have its words.
    [[number, anchor, is_main]] = index["indexentries"][question.lower()]
    assert (index["docnames"][number], is_main) == (page, True)
    html = (built / f"{page}.html").read_text()
    shown = html[html.index(f'id="{anchor}"') :].partition(">")[2]
    text = re.sub(r"<a class=\"headerlink\".*?</a>|<[^>]+>", "", shown)
    assert " ".join(text.split()[:40]).startswith(answer)


def test_tables_of_sentences_are_lists_on_narrow_screens(built):
    html = (built / "docs/user/methods.html").read_text()
    assert 'class="sentences docutils align-default"' in html
    assert '<td><p><span class="column">wins when: </span>pieces of the file are large</p></td>' in html
    narrow = (built / "_static/site.css").read_text().partition("@media (max-width: 46em)")[2]
    assert "article table.sentences td" in narrow
    # A table of figures keeps its columns and is scrolled.
    tables = re.findall(r"<table[^>]*>", (built / "README.html").read_text())
    assert any("sentences" not in table for table in tables)


def test_pictures_have_no_white_frame_and_fit_dark_pages(built):
    style = (built / "_static/site.css").read_text()
    assert "white;" not in style.replace("white-space", "")
    assert "@media (prefers-color-scheme: dark)" in style
    pages = [
        file for file in built.rglob("*.html") if re.search(r"style=\"[^\"]*(white;|#fff)", file.read_text())
    ]
    assert pages == []


OVERVIEW = "**To use**\n- [One](one.md)"


def test_broken_links_are_reported(tmp_path):
    one = """# One

[page](none.md)

[anchor](README.md#nowhere)

[anchor of this page](#nowhere)

[source](../src/none.cpp)

![plot](images/none.png)
"""
    told = refusal(tmp_path, OVERVIEW, one=one, two="# Two\n")
    assert "docs/one.md:3: WARNING: 'myst' cross-reference target not found: 'none.md'" in told
    assert "docs/one.md:5: WARNING: local id not found in doc 'docs/README': 'nowhere'" in told
    assert "docs/one.md:7: WARNING: 'myst' cross-reference target not found: 'nowhere'" in told
    assert "docs/one.md:9: WARNING: 'myst' cross-reference target not found: '../src/none.cpp'" in told
    assert "docs/one.md:11: WARNING: image file not readable" in told
    assert "docs/two.md: WARNING: document isn't included in any toctree" in told


def test_links_that_sphinx_does_not_see_are_reported(tmp_path):
    one = """# One

<a href="two.html">two</a> <a href="README.html#no">no</a> <a href="#one">itself</a> <a href="../../x">out</a>
<img src="https://example.org/a.png"> <a href="https://example.org">elsewhere</a>
"""
    told = refusal(tmp_path, OVERVIEW, one=one).splitlines()[1:]
    assert told == [
        "docs/one.html loads https://example.org/a.png",
        "docs/one.html links to two.html, which does not exist",
        "docs/one.html links to README.html#no, but the page has no such anchor",
        "docs/one.html links to ../../x, which does not exist",
    ]


def test_a_site_is_replaced_and_nothing_else(tmp_path):
    checkout = small(tmp_path, OVERVIEW, one="# One\n")
    out = tmp_path / "site"
    out.mkdir()
    (out / "old.html").touch()
    with pytest.raises(site.SiteError, match="exists and is not a site"):
        site.build(out, checkout)
    assert [file.name for file in out.iterdir()] == ["old.html"]
    (out / site.MARK).touch()
    site.build(out, checkout)
    assert (out / site.START).exists()
    assert (out / site.MARK).exists()
    assert not (out / "old.html").exists()
