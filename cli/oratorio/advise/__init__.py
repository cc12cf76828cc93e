# SPDX-License-Identifier: BSD-3-Clause
"""Gives advice about a job from its Darshan log."""
