# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the methods for docs/user/methods.md: which rank holds which data, and the messages and calls
in order."""
