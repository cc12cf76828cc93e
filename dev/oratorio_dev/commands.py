# SPDX-License-Identifier: BSD-3-Clause
"""The table of the commands of `oratorio_dev`, which the command line of a checkout adds to its own."""

from oratorio.command_line import Command

COMMANDS = {
    "test": Command(
        "develop",
        "Run the tests that find most faults, in ten minutes; with --all, everything that CI runs.",
        "oratorio_dev.testing:add_options",
    ),
    "lint": Command(
        "develop",
        "Check formatting, layering and sizes: everything that can be checked without running the code.",
        "oratorio_dev.lint:add_options",
    ),
    "soak": Command(
        "develop",
        "Run random programs in a simulation and check every byte against what MPI allows.",
        "oratorio_dev.soak:add_options",
    ),
    "mutations": Command(
        "develop",
        "Check that `soak` notices deliberate faults in the library, and print a table.",
        "oratorio_dev.mutations:add_options",
    ),
    "fuzz": Command(
        "develop",
        "Fuzz the code that reads untrusted bytes: hint files, messages, sockets.",
        "oratorio_dev.fuzz:add_options",
    ),
    "docs": Command(
        "develop",
        "Make a site of the documentation that can be read offline, and check all links and anchors.",
        "oratorio_dev.site:add_options",
    ),
    "wheel": Command(
        "develop",
        "Make the wheel for PyPI and the archive of the sources.",
        "oratorio_dev.wheel:add_options",
    ),
}
