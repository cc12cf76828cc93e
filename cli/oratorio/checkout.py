# SPDX-License-Identifier: BSD-3-Clause
"""The command line of a checkout: one function for each command, whose docstring is the command's help."""

import importlib
import importlib.util

import typer

from oratorio import start

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Oratorio: the MPI I/O chapter as a library of its own, over any MPI.",
)


def _list_command(name: str) -> None:
    """Adds to the help a command that `start` runs."""

    @app.command(name, help=start.COMMANDS[name].does.__doc__)
    def done_by_start() -> None:
        start.main()


for _name in start.COMMANDS:
    _list_command(_name)


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def conformance(context: typer.Context) -> None:
    """Find what an MPI's file access does wrong: conformance mpiexec -n 4."""
    from oratorio.conformance.command import app as conformance_app  # noqa: PLC0415

    conformance_app(args=context.args, prog_name="oratorio conformance")


# Adds the commands of the packages in lab/ and dev/, which only a checkout has. No other place of this
# package refers to them.
for _package in ("oratorio_lab", "oratorio_dev"):
    if importlib.util.find_spec(_package):
        app.add_typer(importlib.import_module(f"{_package}.commands").app)


def main() -> None:
    """Entry point of `python -m oratorio`."""
    app(prog_name="oratorio")
