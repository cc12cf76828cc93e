# SPDX-License-Identifier: BSD-3-Clause
"""Runs the MPI-IO tests of other projects with the host's own MPI-IO and with Oratorio.

`model` describes a suite, `sources` fetches suites, `building` compiles them, `runner` runs them, `report`
writes the results, and `command` is the command. The other Python files list the tests of one or several
suites, and this repository contains none of their code.
"""
