# SPDX-License-Identifier: BSD-3-Clause
"""A ReFrame test of an installed Oratorio: a program that knows nothing of it writes and reads through it.

    reframe -C SITE.py -c PREFIX/share/oratorio/reframe/oratorio.py -S oratorio_prefix=PREFIX -r

SITE.py is the site's configuration. The environments need a compiler of MPI as `cc`. The folder of the stage
must be one that all nodes see.
"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable


@rfm.simple_test
class OratorioSmokeTest(rfm.RegressionTest):
    """Compiles smoke.c of the installation and runs it with Oratorio, and with ORATORIO_DISABLE=1."""

    descr = "MPI-IO through Oratorio"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    oratorio_prefix = variable(str, value="/opt/oratorio")
    switch = parameter(["on", "off"])
    num_tasks = 4
    time_limit = "10m"
    build_system = "SingleSource"
    sourcepath = "smoke.c"
    executable_opts = ["out.dat"]
    tags = {"io", "mpi"}

    @run_after("init")
    def find_sources(self):
        """Takes the program from the installation."""
        self.sourcesdir = f"{self.oratorio_prefix}/share/oratorio"
        if self.switch == "off":
            self.env_vars = {"ORATORIO_DISABLE": "1"}

    @run_before("run")
    def start_by_oratorio(self):
        """Puts `oratorio explain` before the launcher; ReFrame 4.7 and later know a modifier for that."""
        self.job.launcher.modifier = f"{self.oratorio_prefix}/bin/oratorio"
        self.job.launcher.modifier_options = ["explain"]

    @sanity_function
    def went_through_oratorio(self):
        """Returns whether the accesses were Oratorio's; the program itself checks the bytes that it reads."""
        accesses = sn.count(sn.extractall(r"out\.dat: collective write", self.stderr))
        return sn.assert_true(accesses > 0 if self.switch == "on" else accesses == 0)
