# SPDX-License-Identifier: BSD-3-Clause
"""Oratorio's command line and the code that its demo, tests and benchmarks share."""

# CMake, the libraries, pkg-config and the wheel read the version from here.
__version__ = "0.2.0"
