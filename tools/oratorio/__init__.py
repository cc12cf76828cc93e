# SPDX-License-Identifier: BSD-3-Clause
"""Oratorio's command line, and what its demo, tests and benchmarks share."""
