# SPDX-License-Identifier: BSD-3-Clause
"""The claims and figures of papers, measured again."""
