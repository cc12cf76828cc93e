# SPDX-License-Identifier: BSD-3-Clause
"""Extracts the accesses of a trace, to replay them."""
