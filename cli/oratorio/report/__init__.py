# SPDX-License-Identifier: BSD-3-Clause
"""The page about a run: what was recorded, what it means, what would make it faster."""
