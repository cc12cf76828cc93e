# SPDX-License-Identifier: BSD-3-Clause
"""Reads what is known of this machine: costs and mounts."""
