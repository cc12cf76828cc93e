# SPDX-License-Identifier: BSD-3-Clause
"""The base class of all errors that a command reports to its user."""

from __future__ import annotations

REFUSED = 2  # exit code of a command that could not do its work


class OratorioError(Exception):
    """A command cannot do its work. The text is a sentence for the user, which says why."""

    exit_code = REFUSED
