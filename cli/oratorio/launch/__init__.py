# SPDX-License-Identifier: BSD-3-Clause
"""Starts jobs with the library preloaded; finds the program's MPI, its launcher and this machine's MPIs."""
