# SPDX-License-Identifier: BSD-3-Clause
"""The table of the commands of `oratorio_lab`, which the command line of a checkout adds to those of
`oratorio`. This `calibrate` has the additional option --machine; this `demo` needs a compiler and parallel
HDF5."""

from oratorio.command_line import Command

COMMANDS = {
    "demo": Command(
        "use",
        "Write a parallel HDF5 checkpoint, first without, then with Oratorio, and compare times and files.",
        "oratorio_lab.demo.demo:add_options",
    ),
    "bench": Command(
        "measure",
        "Measure workloads on the MPI's own MPI-IO and on Oratorio; every byte is checked.",
        "oratorio_lab.bench.command:add_options",
    ),
    "simulate": Command(
        "measure",
        "Predict the time of a collective access on another machine, from the library's plans.",
        "oratorio_lab.simulate.command:add_options",
    ),
    "calibrate": Command(
        "measure",
        "Measure the costs of this machine, a file system and a network that `auto` uses to choose a method.",
        "oratorio_lab.calibrate:add_options",
    ),
    "count": Command(
        "measure",
        "Count pieces, messages, edges, tokens and storage calls of the papers' cases, without data or MPI.",
        "oratorio_lab.counts:add_options",
    ),
    "clients": Command(
        "develop",
        "Check that nothing is lost on real clients of network and cluster file systems on this machine.",
        "oratorio_lab.clients.command:add_options",
    ),
    "neighbours": Command(
        "develop",
        "Run programs and libraries that Oratorio works with, each without and with it, and print a table.",
        "oratorio_lab.interop.command:add_options",
    ),
    "conformance suites": Command(
        "measure",
        "Run the MPI-IO tests of other projects with the MPI's own MPI-IO and with Oratorio.",
        "oratorio_lab.suites.command:add_options",
    ),
}
