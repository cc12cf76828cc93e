# SPDX-License-Identifier: BSD-3-Clause
"""Tests `oratorio methods`."""

import json

from oratorio import command_line
from oratorio.library import method_table


def test_all_methods_are_listed_and_those_of_auto_marked(capsys):
    assert command_line.call(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines[1 : 1 + len(method_table.methods())]]
    assert names == method_table.methods()
    marked = {line.split()[0] for line in lines[2:] if line.split()[1] == "*"}
    assert "sieve" in marked and "naive" not in marked


def test_the_list_is_json_if_asked_for(capsys):
    assert command_line.call(["methods", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == "methods"
    assert [row["name"] for row in told["methods"]] == method_table.methods()[1:]
    assert set(told["methods"][0]) == {"name", "description", "automatic"}
