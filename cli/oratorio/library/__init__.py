# SPDX-License-Identifier: BSD-3-Clause
"""The names that the library knows: hints and methods."""
