# SPDX-License-Identifier: BSD-3-Clause
"""Reads what is known about this machine: costs, mounts and free space."""
