# SPDX-License-Identifier: BSD-3-Clause
"""Starts jobs with the library preloaded: the program's MPI, the launcher, the hosts."""
