# SPDX-License-Identifier: BSD-3-Clause
"""Commands that maintainers run: tests, lint, packaging, the site."""
