# SPDX-License-Identifier: BSD-3-Clause
"""Reads traces, summarizes them in tables and draws them."""
