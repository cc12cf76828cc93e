# SPDX-License-Identifier: BSD-3-Clause
"""Commands that researchers run from a checkout."""
