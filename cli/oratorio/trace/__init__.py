# SPDX-License-Identifier: BSD-3-Clause
"""Reads traces, and summarizes them in a table."""
