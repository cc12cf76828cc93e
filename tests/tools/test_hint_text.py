# SPDX-License-Identifier: BSD-3-Clause
"""Tests that texts with hints are read as the library reads them (tests/unit/hints has the same cases)."""

import pytest

from oratorio.library import hint_text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("cb_nodes=2, cb_buffer_size = 512", ["cb_nodes=2", "cb_buffer_size = 512"]),
        ("cb_config_list=a:1,b:2;cb_nodes=2;", ["cb_config_list=a:1,b:2", "cb_nodes=2"]),
        ("cb_nodes=2;;\n cb_config_list=a:1,b:2;", ["cb_nodes=2", "cb_config_list=a:1,b:2"]),
        ("oratorio_aggregators=0,4,8", ["oratorio_aggregators=0,4,8"]),
        (
            "cb_config_list=a:1, b:2 ,cb_nodes=2,oratorio_aggregators=0,,4,",
            ["cb_config_list=a:1, b:2", "cb_nodes=2", "oratorio_aggregators=0,,4"],
        ),
        (",cb_nodes=2, ,", ["cb_nodes=2"]),
        ("one,cb_nodes=2,romio_cb_write=enable", ["one", "cb_nodes=2", "romio_cb_write=enable"]),
        ("one;two", ["one", "two"]),
    ],
)
def test_the_parts_are_those_of_the_library(text, parts):
    assert hint_text.parts_of(text) == parts


def test_the_last_hint_of_a_key_counts_under_any_of_its_names():
    assert hint_text.last_given(["cb_nodes=1", "a=2", "cb_nodes = 3"]) == ["a=2", "cb_nodes = 3"]
    assert hint_text.last_given(["romio_cb_write=enable", "cb_write=disable"]) == ["cb_write=disable"]
    wider = ["collective_buffering=false", "romio_cb_read=enable"]
    assert hint_text.last_given(wider) == wider, "the first also sets what the last does not"


def test_joined_parts_are_read_as_they_were():
    for parts in (["a=1"], ["a=1,b=2"], ["a=1,b=2", "c=3"], ["a=", "b=x,y"]):
        assert hint_text.parts_of(hint_text.joined(parts)) == parts
