# SPDX-License-Identifier: BSD-3-Clause
"""The MPI-IO tests of others, run under the host's own MPI-IO and under Oratorio.

`model` says what a suite is, `sources` fetches them, `runner` builds and runs them, `report` writes what
came of it; the other files are the suites themselves. Nothing of theirs is kept in this repository.
"""
