# SPDX-License-Identifier: BSD-3-Clause
"""Tests that each method has a picture drawn from the current table, and that no labels overlap."""

import itertools
from xml.etree import ElementTree

import pytest

from oratorio.library.method_table import methods
from oratorio_lab.pictures import page
from oratorio_lab.pictures.method_parts import Parts, rows
from oratorio_lab.pictures.svg import WIDTH

REDRAW = "./oratorio docs --pictures draws them anew"


def test_the_parts_of_every_method_are_read():
    assert [parts.name for parts in rows()] == methods()[1:]
    known = {parts.name: parts for parts in rows()}
    assert known["naive"] == Parts("naive", known["naive"].summary, storage="contiguous")
    assert known["cb_block"].all_aggregate and known["cb_block"].slot_is_block
    assert (known["one_writer"].aggregators_max, known["multithreaded"].slots) == (1, 4)
    assert known["multithreaded"].io_thread and known["disk_directed"].by_place and known["grouping"].in_turns
    assert known["datatype_io"].request == "layout" and known["prefetch"].read_ahead == "ranges"


def test_every_method_has_its_picture_as_it_is_drawn_now():
    for file, text in page.drawn().items():
        assert file.exists() and file.read_text() == text, f"{file.name}: {REDRAW}"
    assert set(page.FOLDER.glob("*.svg")) == set(page.drawn())


def test_the_page_shows_every_picture():
    text = page.PAGE.read_text()
    assert page.section() in text, REDRAW
    for name in methods()[1:]:
        assert text.count(f"(images/methods/{name}.svg)") == 1


@pytest.mark.parametrize("parts", rows(), ids=lambda parts: parts.name)
def test_no_label_lies_on_another_or_leaves_the_picture(parts):
    drawing, height = page.picture(parts)
    ElementTree.fromstring(drawing.svg(height))
    assert len(drawing.texts) > 15
    for left, top, right, bottom in drawing.texts:
        assert left >= 0 and right <= WIDTH and top >= 0 and bottom <= height
    for one, other in itertools.combinations(drawing.texts, 2):
        apart = min(one[2], other[2]) <= max(one[0], other[0]) or min(one[3], other[3]) <= max(
            one[1], other[1]
        )
        assert apart, (one, other)


def test_no_two_methods_look_the_same():
    drawn = {parts.name: page.picture(parts) for parts in rows()}
    bodies = {
        name: one.drawing.svg(one.height).partition("<style>")[2].replace(name, "")
        for name, one in drawn.items()
    }
    for one, other in itertools.combinations(bodies, 2):
        assert bodies[one] != bodies[other], (one, other)
