# SPDX-License-Identifier: BSD-3-Clause
"""`oratorio conformance suites`: runs the MPI-IO tests of other projects with the host's own MPI-IO and with
Oratorio."""

import argparse
import sys
import time

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from oratorio.command_line import Parser
from oratorio.errors import OratorioError
from oratorio.launch.hosts import Host, HostError, find_host, preload_library
from oratorio_lab.suites import hdf5, mpich, netcdf, pnetcdf, python, report
from oratorio_lab.suites.model import ALL, ARMS, PASS, QUICK, SKIP, SLOW, Result, Suite
from oratorio_lab.suites.runner import run_suite

SUITES: tuple[Suite, ...] = (*mpich.SUITES, *python.SUITES, *hdf5.SUITES, *pnetcdf.SUITES, *netcdf.SUITES)


def find_suite(name: str) -> Suite:
    """Returns the suite of that name. If there is none, raises OratorioError with the names of all suites."""
    for suite in SUITES:
        if suite.name == name:
            return suite
    raise OratorioError(f"no suite named {name}; the suites are " + ", ".join(suite.name for suite in SUITES))


def _hosts_for(suite: Suite, names: list[str]) -> list[Host]:
    """Returns the hosts for a suite: the named hosts or, without names, the existing hosts of the suite's
    own list; in both cases only hosts that can run the suite. Raises HostError for an unknown name."""
    found = []
    for name in names or suite.hosts:
        try:
            host = find_host(name)
        except HostError:
            if names:
                raise
            continue
        if suite.serves(host):
            found.append(host)
    return found


class _Lines:
    """Prints the result of each test as soon as the test has ended."""

    def __init__(self, console: Console, place: str) -> None:
        self.console_, self.place_, self.start_ = console, place, time.monotonic()

    def __call__(self, test: str, result: Result) -> None:
        now = time.monotonic()
        color = {PASS: "green", SKIP: "yellow"}.get(result.outcome, "red")
        line = f"{self.place_}  [{color}]{result.outcome:<9}[/] {now - self.start_:5.1f} s  {escape(test)}"
        self.console_.print(f"{line}  {escape(result.detail)}", soft_wrap=True)
        self.start_ = now


def _print_summary(console: Console, outcomes: report.Outcomes, ran: list[tuple[str, str]]) -> None:
    table = Table("suite", "host", *(f"passed: {report.ARM_TITLES[arm]}" for arm in ARMS))
    for suite, host in ran:
        table.add_row(suite, host, *(report.count(outcomes, suite, host, arm) for arm in ARMS))
    console.print(table)
    for suite, test, host in report.behind(outcomes):
        if (suite, host) in ran:
            line = f"passes only with the host's own MPI-IO: {suite}/{test} on {host}"
            console.print(line, markup=False, soft_wrap=True)


def add_options(parser: Parser) -> None:
    """Adds the options of `conformance suites`."""
    parser.add_argument(
        "--mpi", action="append", default=[], metavar="NAME",
        help="An MPI by its name in `oratorio info`; repeatable. By default those that each suite lists.",
    )  # fmt: skip
    names = ", ".join(suite.name for suite in SUITES)
    parser.add_argument(
        "--suite", action="append", default=[], help=f"Run only this suite: {names}; repeatable."
    )
    parser.add_argument(
        "--quick", action="store_true", help="Leave out tests that take minutes or gigabytes."
    )
    parser.add_argument("--slow", action="store_true", help="Run only the tests that --quick leaves out.")
    parser.add_argument(
        "--write", action="store_true",
        help="Write the results into docs/research/conformance.md and its TOML file.",
    )  # fmt: skip
    parser.set_defaults(does=run_suites)


def run_suites(options: argparse.Namespace) -> int:
    """Fetches, builds and runs the suites. Returns 1 if Oratorio fails where the host passes. Raises
    OratorioError."""
    console = Console(highlight=False)
    if not preload_library().exists():
        raise OratorioError(f"{preload_library()} does not exist: build it with ./oratorio info")
    if options.quick and options.slow:
        raise OratorioError("--quick and --slow exclude each other; without them all tests run")
    part = QUICK if options.quick else SLOW if options.slow else ALL
    chosen = [find_suite(name) for name in options.suite] or list(SUITES)
    plan = [(one, mpi) for one in chosen for mpi in _hosts_for(one, options.mpi)]
    outcomes = report.load_outcomes() if options.write else {}
    runs = report.load_runs() if options.write else []
    for one, mpi in plan:
        has_run = _run_both(console, one, mpi, part, outcomes)
        if options.write and has_run:
            runs = report.with_run(runs, report.run_of_today(one.name, mpi.name, part, sys.argv[1:]))
            report.write_outcomes(outcomes, runs)
            report.write_page(SUITES, outcomes, runs)
    ran = [(one.name, mpi.name) for one, mpi in plan]
    _print_summary(console, outcomes, ran)
    return 1 if any((name, mpi) in ran for name, _, mpi in report.behind(outcomes)) else 0


def _run_both(console: Console, suite: Suite, host: Host, part: str, outcomes: report.Outcomes) -> bool:
    """Runs a part of the suite with the host's own MPI-IO and with Oratorio, and adds the results to
    `outcomes`. Returns False if the part is empty."""
    tests = outcomes.setdefault(suite.name, {})
    if part == ALL:
        for hosts in tests.values():
            hosts.pop(host.name, None)
    has_run = False
    for arm in ARMS:
        tell = _Lines(console, f"{suite.name} {host.name} {report.ARM_TITLES[arm]}")
        for test, result in run_suite(suite, host, arm == "oratorio", tell, part).items():
            tests.setdefault(test, {}).setdefault(host.name, {})[arm] = result.outcome
            has_run = True
    return has_run
