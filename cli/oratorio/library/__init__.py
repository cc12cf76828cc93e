# SPDX-License-Identifier: BSD-3-Clause
"""Reads the tables of the library, such as methods and hints, from its description."""
