# SPDX-License-Identifier: BSD-3-Clause
"""Oratorio's command line, and what its demo, tests and benchmarks share."""

# The one place of the version: CMake, the libraries, pkg-config and the wheel read it here.
__version__ = "0.2.0"
