# SPDX-License-Identifier: BSD-3-Clause
"""Runs the command line as `python -m oratorio`."""

import sys

try:
    from oratorio.command_line import main
except KeyboardInterrupt:  # Ctrl-C before the command line is there to report it
    sys.exit(130)

main()
