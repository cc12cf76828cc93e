# SPDX-License-Identifier: BSD-3-Clause
"""Makes the page about a run: what was recorded, what it means, and what would make the run faster."""
