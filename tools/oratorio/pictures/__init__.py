# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the methods for docs/methods.md: who holds what, who talks to whom, in which order."""
