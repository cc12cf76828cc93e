# SPDX-License-Identifier: BSD-3-Clause
"""Runs the MPI-IO tests of other projects with the host's own MPI-IO and with Oratorio.

`model` describes a suite, `sources` fetches suites, `runner` builds and runs them, `report` writes the
results; the other files are the suites themselves. This repository contains none of their code.
"""
