# SPDX-License-Identifier: BSD-3-Clause
"""Tests the page of the wheel that a package index shows: an index has no other page of the checkout."""

import re
import sys

import pytest

from oratorio.paths import ROOT

sys.path.append(str(ROOT / "dev/release"))
import pack

LINK = re.compile(r"\]\(([^)]+)\)")
PAGES = "https://example.org/oratorio/blob/main"


def links(text: str) -> list[str]:
    return LINK.findall(text)


@pytest.mark.parametrize("address", [PAGES, f"{PAGES}/"])
def test_links_lead_to_the_address_of_the_pages(address):
    found = links(pack.front_page(address))
    assert len(found) > 10
    for link in found:
        assert link.startswith(f"{PAGES}/"), link
        assert (ROOT / link.removeprefix(f"{PAGES}/")).is_file(), link


def test_without_an_address_the_text_of_links_remains():
    text = pack.front_page("")
    assert links(text) == []
    assert "| hints and variables | hints, environment |" in text


def test_the_metadata_has_the_page(monkeypatch):
    monkeypatch.setenv("ORATORIO_PAGES", PAGES)
    head, _, page = pack.metadata().partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    assert page == pack.front_page(PAGES)
    monkeypatch.delenv("ORATORIO_PAGES")
    assert "](" not in pack.metadata()
