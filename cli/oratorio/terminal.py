# SPDX-License-Identifier: BSD-3-Clause
"""Messages on standard error, for all commands that only a checkout has."""

import typer
from rich.console import Console

stderr = Console(stderr=True, highlight=False)


def refuse(error: Exception) -> None:
    """Prints the error and ends the command with exit code 2."""
    stderr.print(f"oratorio: {error}", markup=False, soft_wrap=True)
    raise typer.Exit(2)
