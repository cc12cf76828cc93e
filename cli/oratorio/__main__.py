# SPDX-License-Identifier: BSD-3-Clause
"""Runs the command line as `python -m oratorio`."""

from oratorio.command_line import main

main()
