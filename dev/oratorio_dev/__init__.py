# SPDX-License-Identifier: BSD-3-Clause
"""Commands that maintainers run: tests, lint, fuzzing, random programs, mutations, the wheel, the site."""
